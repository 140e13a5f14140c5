/**
 * One run of a handler. It serves a call until it has ended or asks something of the agent; then
 * that call is answered with the questions, and the run stands still until a later call, which
 * brings the answers, is served by it.
 */
import type { Ask, InputRequest } from "./asks.js";

export type InputRequests = Record<string, InputRequest>;

/** Why a run stops serving a call. */
export type Pause =
  | { kind: "ended"; value: unknown }
  | { kind: "failed"; thrown: unknown }
  | { kind: "asks"; requests: InputRequests };

/**
 * Turns of the queue of microtasks after a question in which others may follow, to go out with it. A
 * real timer would do the same, but hidden pages wait a second for one.
 */
const BREATH_TURNS = 10;

interface Open {
  ask: Ask<unknown>;
  resolve(answer: unknown): void;
  reject(reason: unknown): void;
}

export class Run<Call> {
  readonly #abort = new AbortController();
  /** The call that is served, or was the last. */
  #call: Call;
  /** What the agent brought with the call that is served, and nobody has asked for. */
  #given = new Map<string, unknown>();
  /** Questions without an answer, by their keys. */
  readonly #open = new Map<string, Open>();
  #asked = 0;
  #end: Pause | undefined;
  /** Set while a call is served. */
  #pause: ((pause: Pause) => void) | undefined;

  /** @param work what runs, from the first {@link Run.serve} on */
  constructor(call: Call, work: () => unknown) {
    this.#call = call;
    queueMicrotask(() => {
      Promise.resolve().then(work).then(
        (value) => this.#handleEnd({ kind: "ended", value }),
        (thrown: unknown) => this.#handleEnd({ kind: "failed", thrown }),
      );
    });
  }

  get call(): Call {
    return this.#call;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /**
   * Serves a call until the run pauses.
   * @param responses the agent's answers by the keys of the questions, also of those that are only
   * put from now on; what is missing, or does not fit its question, is asked for again
   */
  async serve(call: Call, responses?: unknown): Promise<Pause> {
    this.#call = call;
    this.#given = new Map(Object.entries(responses ?? {}));
    await Promise.all([...this.#open].map(([key, open]) => this.#answer(key, open)));
    if (this.#end) return this.#end;
    void this.#scheduleAsks();
    return new Promise((resolve) => (this.#pause = resolve));
  }

  /** @param key names the question to the agent; the same handler asks under another each time */
  ask<Answer>(ask: Ask<Answer>, key?: string): Promise<Answer> {
    const { signal } = this.#abort;
    if (signal.aborted) return Promise.reject(signal.reason);
    const name = key ?? `question-${++this.#asked}`;
    if (this.#open.has(name)) return Promise.reject(new TypeError(`two questions have the key ${name}`));
    return new Promise<Answer>((resolve, reject) => {
      const open = { ask, resolve: resolve as Open["resolve"], reject };
      this.#open.set(name, open);
      void this.#answer(name, open).then(() => this.#scheduleAsks());
    });
  }

  /** The questions cannot be put. */
  refuse(reason: unknown): void {
    this.#rejectAll(reason);
  }

  /** Nobody waits for the end any more. */
  abort(reason: Error): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(reason);
    this.#rejectAll(reason);
  }

  /** Answers a question with what the agent brought, if it did. */
  async #answer(key: string, open: Open): Promise<void> {
    if (!this.#given.has(key)) return;
    const response = this.#given.get(key);
    this.#given.delete(key);
    try {
      const answer = await open.ask.read(response);
      this.#open.delete(key);
      open.resolve(answer);
    } catch {
      // It stays open. MCP has no place to tell an agent what was wrong with its answer.
    }
  }

  /** Once those who ask in the same breath have asked. */
  async #scheduleAsks(): Promise<void> {
    for (let turn = 0; turn < BREATH_TURNS; turn++) await undefined;
    if (!this.#pause || this.#open.size === 0) return;
    const requests: InputRequests = {};
    for (const [key, { ask }] of this.#open) requests[key] = ask.request;
    this.#handlePause({ kind: "asks", requests });
  }

  #handleEnd(end: Pause): void {
    this.#end = end;
    this.#handlePause(end);
  }

  #handlePause(pause: Pause): void {
    const resolve = this.#pause;
    this.#pause = undefined;
    resolve?.(pause);
  }

  #rejectAll(reason: unknown): void {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { reject } of open) reject(reason);
  }
}
