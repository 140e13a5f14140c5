import type { CancelReason } from "./messages.js";

/** A failure whose message is meant for the model: the call ends with it and `isError`. */
export class ToolError extends Error {
  override name = "ToolError";
}

/**
 * A failure of the protocol rather than of the tool: the call ends with a JSON-RPC error. Models
 * usually do not see these, so prefer {@link ToolError} for what the model could react to.
 */
export class RpcError extends Error {
  override name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  /** @param code an integer, as JSON-RPC demands */
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    if (!Number.isSafeInteger(code)) throw new TypeError(`an error code is an integer, not ${code}`);
    this.code = code;
    this.data = data;
  }
}

/** Why a call's signal is aborted; named like DOM aborts, so that it passes through `fetch`. */
export class CallCancelled extends Error {
  override name = "AbortError";
  readonly reason: CancelReason | "closed";

  constructor(reason: CancelReason | "closed") {
    super(`the call was cancelled (${reason})`);
    this.reason = reason;
  }
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  try {
    return String(thrown);
  } catch {
    return "something that has no text was thrown";
  }
}

/** JSON-RPC's code for parameters that do not fit, an unknown tool among them. */
export const INVALID_PARAMS = -32602;
/** JSON-RPC's code for a method that the application does not offer. */
export const METHOD_NOT_FOUND = -32601;
/** The product's code for a call of which nobody can say whether it ran. */
export const OUTCOME_UNKNOWN = -31002;
