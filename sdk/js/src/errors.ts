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

/**
 * The agent cannot be asked this, for it did not declare the capability. Its message is meant for
 * the model; `required` is what was missing, as MCP names it.
 */
export class MissingCapability extends ToolError {
  override name = "MissingCapability";
  readonly required: Record<string, unknown>;

  constructor(required: Record<string, unknown>) {
    super(`the agent that calls did not declare the capability ${JSON.stringify(required)}, so it cannot be asked`);
    this.required = required;
  }
}

/** There is no such resource; for handlers that read resources. Returning nothing says the same. */
export class ResourceNotFound extends Error {
  override name = "ResourceNotFound";
  readonly uri: string;

  constructor(uri: string) {
    super(`Resource not found: ${uri}`);
    this.uri = uri;
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
/** JSON-RPC's code for what went wrong inside of the application. */
export const INTERNAL_ERROR = -32603;
/** MCP's code, up to 2025-11-25, for a resource that is not there. */
export const LEGACY_RESOURCE_NOT_FOUND = -32002;
/** MCP's code for a capability that the agent lacks; the product's for agents that do not know it. */
export const MISSING_CAPABILITY = -32021;
export const LEGACY_MISSING_CAPABILITY = 42200;
/** The product's code for a call of which nobody can say whether it ran. */
export const OUTCOME_UNKNOWN = -31002;

/** The error for a `requestState` that is not one of this application for this request. */
export function refusedState(): RpcError {
  return new RpcError(
    INVALID_PARAMS,
    "requestState is not what this application gave for this request, or has expired: call again without it",
  );
}
