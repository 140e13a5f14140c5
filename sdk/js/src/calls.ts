/**
 * The memory of calls (SPEC.md, redelivery). It belongs to the instance, not to a socket: when the
 * cluster delivers a call again, after it lost a node or this application's socket, a running call
 * is attached to, a finished one is answered from here, and only an unknown one is run. So a call
 * runs at most once. Where the memory has had to forget, nothing is run on a guess.
 */
import { byteLength } from "./messages.js";

/** Bounds of the answers that the bridge has not yet confirmed, and of the IDs. */
export const MEMORY_BOUNDS = {
  answerAgeMs: 120_000,
  answers: 128,
  answerBytes: 16 * 1024 * 1024,
  /** the longest deadline until one longer is seen */
  deadlineMs: 120_000,
  /** IDs are kept for the longest deadline and this much longer */
  idAgeBeyondDeadlineMs: 60_000,
  ids: 65_536,
} as const;

/** What to do with a call that was delivered. */
export type Delivery =
  | { kind: "run" }
  | { kind: "running" }
  | { kind: "finished"; answer: string }
  /** nobody can say whether it ran */
  | { kind: "unknown" };

interface Answer {
  text: string;
  bytes: number;
  finishedAt: number;
}

export class CallMemory {
  readonly #bounds: typeof MEMORY_BOUNDS;
  readonly #running = new Set<string>();
  /** Calls that ended, oldest first, with the time at which they did. */
  readonly #ended = new Map<string, number>();
  /** The answers of those whose settlement is awaited, oldest first. */
  readonly #answers = new Map<string, Answer>();
  #answerBytes = 0;
  #longestDeadlineMs: number;
  /** The greatest ID that was dropped before its time: greater ones (UUIDv7) have not been dropped. */
  #forgottenUpTo = "";

  constructor(bounds: typeof MEMORY_BOUNDS = MEMORY_BOUNDS) {
    this.#bounds = bounds;
    this.#longestDeadlineMs = bounds.deadlineMs;
  }

  /** @param attempt 0 for the first delivery of the call, as far as the bridge knows */
  handleDelivery(id: string, attempt: number, deadlineMs: number, now: number): Delivery {
    this.#expire(now);
    this.#longestDeadlineMs = Math.max(this.#longestDeadlineMs, deadlineMs);
    if (this.#running.has(id)) return { kind: "running" };
    const answer = this.#answers.get(id);
    if (answer) return { kind: "finished", answer: answer.text };
    if (this.#ended.has(id)) return { kind: "unknown" };
    if (attempt > 0 && id <= this.#forgottenUpTo) return { kind: "unknown" };
    this.#running.add(id);
    return { kind: "run" };
  }

  /** The call has ended with this answer. */
  handleFinished(id: string, answer: string, now: number): void {
    if (!this.#running.delete(id)) return;
    this.#ended.set(id, now);
    const bytes = byteLength(answer);
    this.#answers.set(id, { text: answer, bytes, finishedAt: now });
    this.#answerBytes += bytes;
    this.#expire(now);
  }

  /** These calls' answers have arrived; only the IDs are worth keeping. */
  handleSettled(ids: Iterable<string>): void {
    for (const id of ids) this.#dropAnswer(id);
  }

  #expire(now: number): void {
    const { answerAgeMs, answers, answerBytes, ids } = this.#bounds;
    for (const [id, answer] of this.#answers) {
      const old = now - answer.finishedAt >= answerAgeMs;
      if (!old && this.#answers.size <= answers && this.#answerBytes <= answerBytes) break;
      this.#dropAnswer(id);
    }
    const idAgeMs = this.#longestDeadlineMs + this.#bounds.idAgeBeyondDeadlineMs;
    for (const [id, endedAt] of this.#ended) {
      const old = now - endedAt >= idAgeMs;
      if (!old && this.#ended.size <= ids) break;
      if (!old && id > this.#forgottenUpTo) this.#forgottenUpTo = id;
      this.#ended.delete(id);
      this.#dropAnswer(id);
    }
  }

  #dropAnswer(id: string): void {
    this.#answerBytes -= this.#answers.get(id)?.bytes ?? 0;
    this.#answers.delete(id);
  }
}
