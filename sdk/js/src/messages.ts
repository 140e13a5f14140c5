/**
 * The messages of clientmcp.v1, as SPEC.md defines them: one JSON object per text frame, whose
 * member `type` names it.
 */

/** The kinds of a registration; each has a hash of its own. */
export const KINDS = ["tools", "prompts", "resources", "rest"] as const;
export type Kind = (typeof KINDS)[number];

/** Levels of log messages, from the least severe to the most (RFC 5424). */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Name and version of a program, as MCP's `Implementation`; further members pass as they are. */
export interface Implementation {
  name: string;
  version: string;
  title?: string;
  [member: string]: unknown;
}

/** What the bridge imposes on a connection; sizes in bytes, times in milliseconds. */
export interface Limits {
  maxMessageBytes: number;
  pingIntervalMs: number;
  silenceTimeoutMs: number;
}

/** How deep a message may be nested, itself included. */
export const MAX_DEPTH = 128;

/** The first revision of MCP without sessions; a call of an older one comes from a legacy agent. */
const MODERN_SINCE = "2026-07-28";

/** Whether an agent speaks a revision that is modern (SPEC.md §2); one that is not named is. */
export function isModern(protocolVersion: string | undefined): boolean {
  return protocolVersion === undefined || protocolVersion >= MODERN_SINCE;
}

/** The limits that hold until the first `registered` states them. */
export const DEFAULT_LIMITS: Limits = {
  maxMessageBytes: 4 * 1024 * 1024,
  pingIntervalMs: 20_000,
  silenceTimeoutMs: 45_000,
};

/** An entry of the registration that the bridge refused, the others being served. */
export interface Rejected {
  kind: string;
  name: string | null;
  reason: string;
}

export interface RegisteredMessage {
  type: "registered";
  clientId: string;
  hashes?: Partial<Record<Kind, string>>;
  rejected?: Rejected[];
  expiresInMs?: number;
  limits?: Partial<Limits>;
  reconnectWithinMs?: number;
}

export interface NeedMessage {
  type: "need";
  kinds: Kind[];
}

/** What the bridge knows about the agent that makes a call. */
export interface WireContext {
  protocolVersion?: string;
  clientInfo?: Implementation;
  clientCapabilities?: Record<string, unknown>;
  subject?: string;
  logLevel?: LogLevel;
  progress?: boolean;
  /** whether the call may become a task */
  tasks?: boolean;
}

export interface CallMessage {
  type: "call";
  id: string;
  rootId?: string;
  round?: number;
  attempt?: number;
  method: string;
  params?: Record<string, unknown>;
  deadlineMs?: number;
  context?: WireContext;
}

/** Why the bridge gave a call up. */
export type CancelReason = "agent" | "disconnect" | "timeout" | "shutdown";

export interface CancelMessage {
  type: "cancel";
  id: string;
  reason?: CancelReason;
}

export interface SettledMessage {
  type: "settled";
  ids: string[];
}

export interface MoveMessage {
  type: "move";
  reason?: string;
  withinMs?: number;
  url?: string;
}

export interface SubscriptionsMessage {
  type: "subscriptions";
  uris: string[];
}

export interface AuthorizedMessage {
  type: "authorized";
  expiresInMs?: number;
}

/** Every message that the SDK acts on; others of the bridge are ignored. */
export type ServerMessage =
  | RegisteredMessage
  | NeedMessage
  | CallMessage
  | CancelMessage
  | SettledMessage
  | MoveMessage
  | SubscriptionsMessage
  | AuthorizedMessage
  | { type: "ping" }
  | { type: "pong" };

export interface ErrorBody {
  code: number;
  message: string;
  data?: unknown;
}

/** How a call ended; exactly one per call ID. */
export type Answer =
  | { type: "result"; id: string; result: unknown }
  | { type: "error"; id: string; error: ErrorBody };

/** The exact text of the pings and pongs of both sides. */
export const PING = '{"type":"ping"}';
export const PONG = '{"type":"pong"}';

/** Reads a frame. Anything but a JSON object with a `type` is undefined, and is then ignored. */
export function parseMessage(text: string): ServerMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  return typeof (value as { type?: unknown }).type === "string" ? (value as ServerMessage) : undefined;
}

/**
 * Writes a frame. Half of a character outside of the BMP, as a careless cut leaves it, becomes
 * U+FFFD: JSON.stringify would write an escape that many readers refuse.
 * @throws TypeError for what JSON cannot express
 */
export function encodeMessage(message: object): string {
  const text = JSON.stringify(message);
  if (!text.includes("\\ud")) return text;
  return text.replace(/\\(?:\\|ud[0-9a-f]{3})/g, (escape) => (escape === "\\\\" ? escape : "\ufffd"));
}

const encoder = new TextEncoder();

/** The size of a text on the wire, in bytes of UTF-8. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Whether a text is at most `limit` bytes; counts them only where the length leaves a doubt. */
export function fits(text: string, limit: number): boolean {
  return text.length * 3 <= limit || (text.length <= limit && byteLength(text) <= limit);
}

/** Whether a text of JSON is nested no deeper than a message may be. */
export function isShallow(json: string): boolean {
  if (json.length <= 2 * MAX_DEPTH) return true;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (inString) {
      if (character === "\\") i++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") {
      if (++depth > MAX_DEPTH) return false;
    } else if (character === "}" || character === "]") depth--;
  }
  return true;
}
