/** Calls of agents, from their delivery to their answer. */
import { CallMemory } from "./calls.js";
import type { ContextCall } from "./context.js";
import type { Logger } from "./environment.js";
import { CallCancelled, OUTCOME_UNKNOWN, ResourceNotFound, RpcError, ToolError } from "./errors.js";
import { encodeMessage, fits, isShallow, type Answer, type CallMessage, type CancelReason } from "./messages.js";
import type { Offer } from "./offer/offer.js";
import { answerOfThrown, encodeAnswer } from "./results.js";
import { Rounds } from "./rounds/rounds.js";
import type { Run } from "./rounds/run.js";
import type { Cancel, Timers } from "./timers.js";

/** A socket, as far as a call needs it. */
export interface Carrier {
  /** counts up within the instance */
  readonly connection: number;
  readonly isOpen: boolean;
  readonly limits: { maxMessageBytes: number };
  send(text: string): boolean;
}

export interface DispatcherParts {
  timers: Timers;
  logger: Logger;
  /** what is offered at present */
  offer: () => Offer;
}

/** A cancel that is this much overdue was lost with its socket. */
const LOST_CANCEL_MS = 5_000;

interface RunningCall extends ContextCall {
  /** the handler's run that serves it */
  run: Run<RunningCall> | undefined;
  /** the socket of the latest delivery: the only one on which the bridge expects to hear of the call */
  carrier: Carrier;
  attempt: number;
  cancelled: boolean;
  cancelDeadline: Cancel;
  /** what was last said about the task that the call became */
  task: string | undefined;
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #memory = new CallMemory();
  readonly #rounds: Rounds<RunningCall>;
  readonly #running = new Map<string, RunningCall>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#rounds = new Rounds(parts.timers, (method, params, context) => parts.offer().answer(method, params, context));
  }

  /** A call was delivered, for the first time or again. */
  handleCall(message: CallMessage, carrier: Carrier): void {
    const { id, attempt = 0, deadlineMs = 0 } = message;
    const delivery = this.#memory.handleDelivery(id, attempt, deadlineMs, this.#parts.timers.now());
    switch (delivery.kind) {
      case "run":
        return void this.#run(message, carrier);
      case "running":
        return this.#attach(message, carrier);
      case "finished":
        return void carrier.send(delivery.answer);
      case "unknown":
        return void carrier.send(unknownOutcome(id));
    }
  }

  /** The bridge gave a call up; a socket from which the call went on has nothing to say about it. */
  handleCancel(id: string, reason: CancelReason, carrier: Carrier): void {
    const call = this.#running.get(id);
    if (call && carrier.connection >= call.carrier.connection) this.#cancel(call, reason);
  }

  handleSettled(ids: Iterable<string>): void {
    this.#memory.handleSettled(ids);
  }

  /** The application is leaving: nobody waits for any call. */
  cancelAll(): void {
    for (const call of this.#running.values()) this.#cancel(call, "closed");
    this.#rounds.abortAll();
  }

  async #run(message: CallMessage, carrier: Carrier): Promise<void> {
    const { id, method, attempt = 0 } = message;
    const call: RunningCall = {
      message,
      run: undefined,
      carrier,
      attempt,
      cancelled: false,
      cancelDeadline: () => {},
      task: undefined,
      note: (note) => this.#note(call, note),
    };
    this.#running.set(id, call);
    this.#awaitCancel(call, message.deadlineMs ?? 0);
    const answer = await this.#answer(call);
    call.cancelDeadline();
    this.#running.delete(id);
    const text = encodeAnswer(answer, method, call.carrier.limits.maxMessageBytes);
    this.#memory.handleFinished(id, text, this.#parts.timers.now());
    // A socket that is gone loses nothing: the call comes again, and is answered from the memory.
    if (!call.cancelled) call.carrier.send(text);
  }

  async #answer(call: RunningCall): Promise<Answer> {
    const { id, method, params } = call.message;
    try {
      call.run = this.#rounds.runFor(call);
      const result = await this.#rounds.result(call.run, call);
      if (typeof result !== "object" || result === null) {
        throw new TypeError(`a handler of ${method} returned ${String(result)}`);
      }
      return { type: "result", id, result };
    } catch (thrown) {
      if (!isExpected(thrown) && !call.cancelled) {
        const target = String(params?.["name"] ?? params?.["uri"] ?? method);
        this.#parts.logger.warn(`clientmcp: a call of ${target} failed`, thrown);
      }
      return answerOfThrown(call.message, thrown);
    }
  }

  #attach({ id, attempt = 0, deadlineMs = 0 }: CallMessage, carrier: Carrier): void {
    const call = this.#running.get(id);
    // A delivery that was overtaken by a later one comes from a node that has lost the call.
    if (!call || attempt < call.attempt) return;
    call.carrier = carrier;
    call.attempt = attempt;
    call.cancelled = false;
    this.#awaitCancel(call, deadlineMs);
    if (call.task !== undefined) carrier.send(call.task);
  }

  #cancel(call: RunningCall, reason: CancelReason | "closed"): void {
    if (call.cancelled) return;
    call.cancelled = true;
    call.cancelDeadline();
    call.run?.abort(new CallCancelled(reason));
  }

  /** The bridge cancels a call at its deadline, but not if the socket is gone by then. */
  #awaitCancel(call: RunningCall, deadlineMs: number): void {
    call.cancelDeadline();
    if (!(deadlineMs > 0)) return;
    call.cancelDeadline = this.#parts.timers.after(deadlineMs + LOST_CANCEL_MS, () => this.#cancel(call, "timeout"));
  }

  /** Sends what a running call has to say, if it can be said. */
  #note(call: RunningCall, note: { type: "progress" | "log" | "task"; [member: string]: unknown }): void {
    const { carrier } = call;
    if (call.cancelled || this.#running.get(call.message.id) !== call) return;
    try {
      const text = encodeMessage(note);
      if (!fits(text, carrier.limits.maxMessageBytes)) throw new RangeError("it is too large");
      if (!isShallow(text)) throw new RangeError("it is nested too deep");
      if (note.type === "task") call.task = text;
      carrier.send(text);
    } catch (error) {
      this.#parts.logger.warn(`clientmcp: a ${note.type} message could not be sent`, error);
    }
  }
}

/** Whether an error is the handler's way to say something, and no fault. */
function isExpected(thrown: unknown): boolean {
  return [ToolError, RpcError, ResourceNotFound].some((kind) => thrown instanceof kind);
}

function unknownOutcome(id: string): string {
  return encodeMessage({
    type: "error",
    id,
    error: {
      code: OUTCOME_UNKNOWN,
      message: "the application no longer knows how this call ended",
      data: { outcome: "unknown" },
    },
  });
}
