/** Calls of agents, from their delivery to their answer. */
import { CallMemory } from "./calls.js";
import type { Logger } from "./environment.js";
import { CallCancelled, INVALID_PARAMS, METHOD_NOT_FOUND, OUTCOME_UNKNOWN, RpcError, ToolError } from "./errors.js";
import { encodeMessage, fits, isShallow, LOG_LEVELS } from "./messages.js";
import type { Answer, CallMessage, CancelReason, LogLevel } from "./messages.js";
import type { CallContext, ToolArguments, Tools } from "./options.js";
import { answerOfThrown, encodeAnswer, resultOf } from "./results.js";
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
  tools: () => Tools;
}

/** A cancel that is this much overdue was lost with its socket. */
const LOST_CANCEL_MS = 5_000;

interface RunningCall {
  message: CallMessage;
  abort: AbortController;
  /** the socket of the latest delivery: the only one on which the bridge expects to hear of the call */
  carrier: Carrier;
  attempt: number;
  cancelled: boolean;
  cancelDeadline: Cancel;
}

export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #memory = new CallMemory();
  readonly #running = new Map<string, RunningCall>();

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
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
  }

  async #run(message: CallMessage, carrier: Carrier): Promise<void> {
    const { id, attempt = 0 } = message;
    const abort = new AbortController();
    const call: RunningCall = { message, abort, carrier, attempt, cancelled: false, cancelDeadline: () => {} };
    this.#running.set(id, call);
    this.#awaitCancel(call, message.deadlineMs ?? 0);
    const answer = await this.#answer(call);
    call.cancelDeadline();
    this.#running.delete(id);
    const text = encodeAnswer(answer, call.carrier.limits.maxMessageBytes);
    this.#memory.handleFinished(id, text, this.#parts.timers.now());
    // A socket that is gone loses nothing: the call comes again, and is answered from the memory.
    if (!call.cancelled) call.carrier.send(text);
  }

  async #answer(call: RunningCall): Promise<Answer> {
    const { id, method, params = {} } = call.message;
    try {
      if (method !== "tools/call") {
        throw new RpcError(METHOD_NOT_FOUND, `the application does not offer ${method}`);
      }
      const name = String(params["name"]);
      const tools = this.#parts.tools();
      const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
      if (!tool) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
      const value = await tool.handler(readArguments(params), this.#contextOf(call));
      return { type: "result", id, result: resultOf(value, tool) };
    } catch (thrown) {
      const expected = thrown instanceof ToolError || thrown instanceof RpcError;
      if (!expected && !call.cancelled) {
        this.#parts.logger.warn(`clientmcp: a call of ${String(params["name"])} failed`, thrown);
      }
      return answerOfThrown(id, thrown);
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
  }

  #cancel(call: RunningCall, reason: CancelReason | "closed"): void {
    if (call.cancelled) return;
    call.cancelled = true;
    call.cancelDeadline();
    call.abort.abort(new CallCancelled(reason));
  }

  /** The bridge cancels a call at its deadline, but not if the socket is gone by then. */
  #awaitCancel(call: RunningCall, deadlineMs: number): void {
    call.cancelDeadline();
    if (!(deadlineMs > 0)) return;
    call.cancelDeadline = this.#parts.timers.after(deadlineMs + LOST_CANCEL_MS, () => this.#cancel(call, "timeout"));
  }

  /** Sends what a running call has to say, if it can be said. */
  #note(call: RunningCall, message: { type: "progress" | "log"; [member: string]: unknown }): void {
    const { carrier } = call;
    if (!carrier.isOpen || call.cancelled || this.#running.get(call.message.id) !== call) return;
    try {
      const text = encodeMessage(message);
      if (!fits(text, carrier.limits.maxMessageBytes)) throw new RangeError("it is too large");
      if (!isShallow(text)) throw new RangeError("it is nested too deep");
      carrier.send(text);
    } catch (error) {
      this.#parts.logger.warn(`clientmcp: a ${message.type} message could not be sent`, error);
    }
  }

  #contextOf(call: RunningCall): CallContext {
    const { id, rootId = id, params = {}, context = {} } = call.message;
    const { logLevel, clientCapabilities = {} } = context;
    return {
      signal: call.abort.signal,
      callId: id,
      rootId,
      protocolVersion: context.protocolVersion,
      clientInfo: context.clientInfo,
      clientCapabilities,
      subject: context.subject,
      logLevel,
      params,
      progress: (progress, total, message) => {
        if (context.progress !== true || !Number.isFinite(progress)) return;
        if (!Number.isFinite(total)) total = undefined;
        this.#note(call, { type: "progress", id, progress, total, message: textOrNothing(message) });
      },
      log: (level, data, logger) => {
        if (!isLogged(level, logLevel)) return;
        if (data === undefined) data = null;
        this.#note(call, { type: "log", id, level, logger: textOrNothing(logger), data });
      },
    };
  }
}

/** The one place where arguments are looked at before a handler gets them. */
function readArguments(params: Record<string, unknown>): ToolArguments {
  const given = params["arguments"] ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new RpcError(INVALID_PARAMS, "arguments must be an object");
  }
  return given as ToolArguments;
}

function isLogged(level: LogLevel, least: LogLevel | undefined): boolean {
  if (least === undefined) return false;
  const rank = LOG_LEVELS.indexOf(level);
  return rank >= 0 && rank >= LOG_LEVELS.indexOf(least);
}

/** What the bridge takes for a text only if it is one; callers without types may pass anything. */
function textOrNothing(given: unknown): string | undefined {
  return given === undefined || given === null ? undefined : String(given);
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
