/** What a handler knows about its call, and what it can say and ask meanwhile. */
import { MissingCapability, ToolError } from "./errors.js";
import { isModern, LOG_LEVELS, type CallMessage, type Implementation, type LogLevel } from "./messages.js";
import type { OutputOf, Schema } from "./offer/infer.js";
import { randomId } from "./random.js";
import { elicitAsk, elicitUrlAsk, lacking, rootsAsk, sampleAsk } from "./rounds/asks.js";
import type { Ask, Elicited, Root, Sampled, SampleParams } from "./rounds/asks.js";
import type { Run } from "./rounds/run.js";

/** How a question is named towards the agent; by itself each has another name. */
export interface AskOptions {
  key?: string;
}

/** What agents are told about a call that becomes a task. */
export interface TaskOptions {
  /** how long the task and its result are kept */
  ttlMs?: number;
  /** how often agents should look */
  pollIntervalMs?: number;
  statusMessage?: string;
}

/**
 * What a handler knows about its call. Members may be taken out (`({ signal, progress }) => …`). A
 * handler that asks goes on in a later call: then `callId`, `params` and the rest are that one's.
 */
export interface CallContext {
  /** aborted when nobody waits for the result any more; its reason is a `CallCancelled` */
  readonly signal: AbortSignal;
  readonly callId: string;
  /** the same for all rounds of a call that asks the agent's user for input */
  readonly rootId: string;
  /** the MCP revision that the agent speaks */
  readonly protocolVersion: string | undefined;
  readonly clientInfo: Implementation | undefined;
  readonly clientCapabilities: Record<string, unknown>;
  /** who calls, as the agent's token says */
  readonly subject: string | undefined;
  /** the least severe level that the agent wants to see; none at all if undefined */
  readonly logLevel: LogLevel | undefined;
  /** whether the call may become a task */
  readonly tasks: boolean;
  /** the agent's parameters as they are: `name`, `arguments`, `_meta`, `inputResponses`, … */
  readonly params: Record<string, unknown>;
  /** the answers to an `inputRequired`, by the keys of its requests; unchecked, so look before use */
  readonly inputResponses: Record<string, any> | undefined;
  /** the state of the `inputRequired` that is answered */
  readonly state: any;

  /** Reports progress, if the agent asked for it; only growing values reach it. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message to the agent, if it wants to see ones of this level. */
  log(level: LogLevel, data: unknown, logger?: string): void;

  /**
   * Puts a form to the agent's user. The handler stands still until the answer is there; what the
   * user accepts fits the schema, whose fields have no nesting.
   * @throws MissingCapability if the agent cannot ask its user; CallCancelled if no answer comes
   */
  elicit<const S extends Schema>(message: string, schema: S, options?: AskOptions): Promise<Elicited<OutputOf<S>>>;
  /** Sends the agent's user to an address; `accept` says that the user agreed to go. */
  elicitUrl(message: string, url: string, options?: AskOptions): Promise<{ action: "accept" | "decline" | "cancel" }>;
  /** Has the agent's model answer. */
  sample(params: SampleParams, options?: AskOptions): Promise<Sampled>;
  /** The folders and files that the agent lets the application know. */
  listRoots(options?: AskOptions): Promise<Root[]>;

  /**
   * Makes the call a task: the agent gets a handle at once, and looks for the result later. A call
   * that is one already gets another status message. False if the agent, or the tool's `task`,
   * does not allow it: the call then goes on as it is.
   */
  becomeTask(options?: TaskOptions): boolean;
}

/** A call as far as its handler's context needs it. */
export interface ContextCall {
  readonly message: CallMessage;
  note(message: { type: "progress" | "log" | "task"; [member: string]: unknown }): void;
}

/** What a sealed state, opened, adds to a context. */
export interface Resumed {
  state?: unknown;
}

/** The methods that may ask (MCP 2026-07-28, multi round-trip requests). */
const MAY_ASK = new Set(["tools/call", "prompts/get", "resources/read"]);

export function contextOf(run: Run<ContextCall>, resumed: Resumed): CallContext {
  const message = (): CallMessage => run.call.message;
  const wire = () => message().context ?? {};
  const params = () => message().params ?? {};
  const capabilities = () => wire().clientCapabilities ?? {};

  async function ask<Answer>(question: Ask<Answer>, { key }: AskOptions = {}): Promise<Answer> {
    const { method } = message();
    if (!MAY_ASK.has(method)) throw new ToolError(`${method} cannot ask the agent anything`);
    const required = lacking(question.request, capabilities());
    if (required) throw new MissingCapability(required);
    return run.ask(question, key);
  }

  return {
    get signal() { return run.signal; },
    get callId() { return message().id; },
    get rootId() { return message().rootId ?? message().id; },
    get protocolVersion() { return wire().protocolVersion; },
    get clientInfo() { return wire().clientInfo; },
    get clientCapabilities() { return capabilities(); },
    get subject() { return wire().subject; },
    get logLevel() { return wire().logLevel; },
    get tasks() { return wire().tasks === true; },
    get params() { return params(); },
    get inputResponses() { return recordOrNothing(params()["inputResponses"]); },
    get state() { return resumed.state; },

    progress(progress, total, text) {
      if (wire().progress !== true || !Number.isFinite(progress)) return;
      if (!Number.isFinite(total)) total = undefined;
      run.call.note({ type: "progress", id: message().id, progress, total, message: textOrNothing(text) });
    },
    log(level, data, logger) {
      if (!isLogged(level, wire().logLevel)) return;
      run.call.note({ type: "log", id: message().id, level, logger: textOrNothing(logger), data: data ?? null });
    },

    elicit: (text, schema, options) => ask(elicitAsk(text, schema), options),
    elicitUrl: (text, url, options) => {
      const id = legacyElicitationId(wire().protocolVersion);
      return ask(elicitUrlAsk(text, url, id), options);
    },
    sample: (given, options) => ask(sampleAsk(given), options),
    listRoots: (options) => ask(rootsAsk(), options),

    becomeTask({ ttlMs, pollIntervalMs, statusMessage } = {}) {
      if (wire().tasks !== true || run.signal.aborted) return false;
      run.call.note({ type: "task", id: message().id, ttlMs, pollIntervalMs, statusMessage });
      return true;
    },
  };
}

function isLogged(level: LogLevel, least: LogLevel | undefined): boolean {
  if (least === undefined) return false;
  const rank = LOG_LEVELS.indexOf(level);
  return rank >= 0 && rank >= LOG_LEVELS.indexOf(least);
}

/** Revision 2025-11-25 wants one, later ones know none. */
function legacyElicitationId(protocolVersion: string | undefined): string | undefined {
  return isModern(protocolVersion) ? undefined : randomId();
}

/** What the bridge takes for a text only if it is one; callers without types may pass anything. */
function textOrNothing(given: unknown): string | undefined {
  return given === undefined || given === null ? undefined : String(given);
}

function recordOrNothing(given: unknown): Record<string, unknown> | undefined {
  return typeof given === "object" && given !== null ? (given as Record<string, unknown>) : undefined;
}

