/**
 * Runs that wait for an agent's answers, under the `requestState` that the agent brings back with
 * them: a random text that means something here alone, and once. So nothing has to be sealed into
 * it; what is altered, foreign, used or too old is simply not found.
 */
import { CallCancelled, refusedState, ToolError } from "../errors.js";
import { randomId } from "../random.js";
import type { Cancel, Timers } from "../timers.js";
import type { Run } from "./run.js";

/** Runs that may wait at a time, and for how long each. */
export const SUSPENDED_BOUNDS = { runs: 64, ageMs: 600_000 } as const;

const PREFIX = "run.";

interface Waiting<Call> {
  run: Run<Call>;
  /** whose request it was, and which */
  binding: string;
  cancelExpiry: Cancel;
}

export class SuspendedRuns<Call> {
  readonly #timers: Timers;
  readonly #waiting = new Map<string, Waiting<Call>>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Keeps a run, and gives the state under which it is found.
   * @throws ToolError if too many wait
   */
  hold(run: Run<Call>, binding: string): string {
    const { runs, ageMs } = SUSPENDED_BOUNDS;
    if (this.#waiting.size >= runs) {
      throw new ToolError(
        `${runs} calls of this application wait for answers, which is as many as may: try again later`,
      );
    }
    const state = PREFIX + randomId();
    const cancelExpiry = this.#timers.after(ageMs, () => {
      this.#waiting.delete(state);
      run.abort(new CallCancelled("timeout"));
    });
    this.#waiting.set(state, { run, binding, cancelExpiry });
    return state;
  }

  /** Whether a state is of the kind that {@link SuspendedRuns.hold} gives. */
  names(state: string): boolean {
    return state.startsWith(PREFIX);
  }

  /**
   * The run that waits under a state, for the same request of the same subject.
   * @throws RpcError for any other
   */
  take(state: string, binding: string): Run<Call> {
    const waiting = this.#waiting.get(state);
    if (waiting?.binding !== binding) throw refusedState();
    this.#waiting.delete(state);
    waiting.cancelExpiry();
    return waiting.run;
  }

  /** The application leaves. */
  abortAll(): void {
    for (const { run, cancelExpiry } of this.#waiting.values()) {
      cancelExpiry();
      run.abort(new CallCancelled("closed"));
    }
    this.#waiting.clear();
  }
}
