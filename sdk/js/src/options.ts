/** What an application passes to `connect`, and what its handlers are given. */
import type { Logger, WebSocketConstructor } from "./environment.js";
import type { Implementation, LogLevel } from "./messages.js";
import type { TokenCallback } from "./token.js";

/** A JSON Schema; passed on as it is. */
export type JsonSchema = Record<string, unknown>;

/** MCP's result of a tool call; a handler that returns one has it passed on as it is. */
export interface CallToolResult {
  content: { type: string; [member: string]: unknown }[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
}

/** What a handler knows about its call. */
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
  /** the agent's parameters as they are: `name`, `arguments`, `_meta`, `inputResponses`, … */
  readonly params: Record<string, unknown>;
  /** Reports progress, if the agent asked for it; only growing values reach it. */
  progress(progress: number, total?: number, message?: string): void;
  /** Sends a log message to the agent, if it wants to see ones of this level. */
  log(level: LogLevel, data: unknown, logger?: string): void;
}

// Arguments are as the input schema says, which the compiler cannot know.
export type ToolArguments = Record<string, any>;

/**
 * A tool. All members but the last three are MCP's own and are passed on as they are, also those
 * that are not named here.
 */
export interface Tool {
  title?: string;
  description?: string;
  /** an object's schema; without one the tool takes an object of any shape */
  inputSchema?: JsonSchema;
  outputSchema?: JsonSchema;
  annotations?: Record<string, unknown>;
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
  /** client capabilities without which the tool cannot be called, as `{ elicitation: {} }` */
  requires?: Record<string, unknown>;
  /** how long a call may take, in milliseconds, up to 900,000; 120,000 by default */
  timeoutMs?: number;
  /**
   * Does the work. A text becomes the result's text, a `CallToolResult` passes as it is, any other
   * JSON becomes structured content and its text. An error becomes a result with `isError`.
   */
  handler: (args: ToolArguments, context: CallContext) => unknown;
}

export type Tools = Record<string, Tool>;

export interface ConnectOptions {
  /** `wss://…/v1/connect` of the cluster */
  url: string;
  /** the token, or what yields one: asked again before it ends, and once after a refusal */
  token: string | TokenCallback;
  serverInfo: Implementation;
  /** what a model should know about the application as a whole */
  instructions?: string;
  tools?: Tools;
  /** how long agents may keep the tool list, in milliseconds; 0 by default */
  ttlMs?: number;
  /** needed where there is no global WebSocket, as in Node.js 20 */
  WebSocket?: WebSocketConstructor;
  /** where problems are told to the developer: `console` by default, nowhere if null */
  logger?: Logger | null;
}

/** Where the connection stands. */
export interface Status {
  /**
   * - `connecting`: on the way to the bridge
   * - `online`: agents can call
   * - `offline`: lost; the SDK tries again by itself, after `retryInMs`
   * - `stopped`: closed, or useless to try again; `connect()` starts anew
   */
  state: "connecting" | "online" | "offline" | "stopped";
  /** the close code that led here */
  code?: number;
  /** what happened, and what to do about it */
  reason?: string;
  retryInMs?: number;
  /** the identity under which agents reach this application, as soon as it is known */
  clientId?: string;
}
