/**
 * From a call to its handler and back: a call starts a run of a handler, or goes on with one that
 * waits for answers; the run ends, or asks (MCP 2026-07-28, multi round-trip requests).
 */
import { contextOf, type CallContext, type ContextCall, type Resumed } from "../context.js";
import { MissingCapability } from "../errors.js";
import type { CallMessage } from "../messages.js";
import type { Timers } from "../timers.js";
import { lacking } from "./asks.js";
import { bindingOf } from "./binding.js";
import { InputRequired } from "./input-required.js";
import { Run, type InputRequests } from "./run.js";
import { Seal } from "./seal.js";
import { SuspendedRuns } from "./suspended.js";

/** Runs the handler that a request is for. */
export type Answerer = (method: string, params: Record<string, unknown>, context: CallContext) => Promise<unknown>;

export class Rounds<Call extends ContextCall> {
  readonly #answerer: Answerer;
  readonly #seal: Seal;
  readonly #suspended: SuspendedRuns<Call>;

  constructor(timers: Timers, answerer: Answerer) {
    this.#answerer = answerer;
    this.#seal = new Seal(timers);
    this.#suspended = new SuspendedRuns(timers);
  }

  /**
   * The run that serves a call.
   * @throws RpcError for a `requestState` that is not good
   */
  runFor(call: Call): Run<Call> {
    const state = call.message.params?.["requestState"];
    if (typeof state === "string" && this.#suspended.names(state)) {
      return this.#suspended.take(state, bindingOf(call.message));
    }
    const run: Run<Call> = new Run(call, () => this.#work(run, state));
    return run;
  }

  /** Serves a call with its run until there is a result for it. */
  async result(run: Run<Call>, call: Call): Promise<unknown> {
    let responses = call.message.params?.["inputResponses"];
    for (;;) {
      const pause = await run.serve(call, responses);
      if (pause.kind === "failed") throw pause.thrown;
      if (pause.kind === "ended") return pause.value;
      try {
        const requestState = this.#suspended.hold(run, bindingOf(call.message));
        return inputRequiredResult(pause.requests, requestState);
      } catch (full) {
        run.refuse(full);
        responses = undefined;
      }
    }
  }

  /** The application leaves. */
  abortAll(): void {
    this.#suspended.abortAll();
  }

  async #work(run: Run<Call>, state: unknown): Promise<unknown> {
    const { message } = run.call;
    const resumed: Resumed = {};
    if (state !== undefined) resumed.state = await this.#seal.open(String(state), bindingOf(message));
    if (run.signal.aborted) throw run.signal.reason;
    const value = await this.#answerer(message.method, message.params ?? {}, contextOf(run, resumed));
    return value instanceof InputRequired ? this.#ask(value, run.call.message) : value;
  }

  async #ask({ requests, state }: InputRequired, message: CallMessage): Promise<unknown> {
    const capabilities = message.context?.clientCapabilities ?? {};
    for (const request of Object.values(requests ?? {})) {
      const required = lacking(request, capabilities);
      if (required) throw new MissingCapability(required);
    }
    const sealed = state === undefined ? undefined : await this.#seal.close(state, bindingOf(message));
    return inputRequiredResult(requests, sealed);
  }
}

function inputRequiredResult(inputRequests: InputRequests | undefined, requestState: string | undefined): unknown {
  return {
    resultType: "input_required",
    ...(inputRequests && { inputRequests }),
    ...(requestState !== undefined && { requestState }),
  };
}

