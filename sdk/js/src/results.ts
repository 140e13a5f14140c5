/** From what a call's handler yielded, or threw, to the frame of its answer. */
import {
  INTERNAL_ERROR, INVALID_PARAMS, LEGACY_MISSING_CAPABILITY, LEGACY_RESOURCE_NOT_FOUND, messageOf,
  MISSING_CAPABILITY, MissingCapability, ResourceNotFound, RpcError,
} from "./errors.js";
import { byteLength, encodeMessage, fits, isModern, isShallow, MAX_DEPTH } from "./messages.js";
import type { Answer, CallMessage, ErrorBody } from "./messages.js";

/** The member of a result's `_meta` that tells programs what a model reads (SPEC.md §7.3). */
const OUTCOME = "dev.clientmcp/outcome";

/** The answer for what a handler threw. */
export function answerOfThrown({ id, method, context = {} }: CallMessage, thrown: unknown): Answer {
  const modern = isModern(context.protocolVersion);
  if (method === "tools/call" && !(thrown instanceof RpcError) && !(thrown instanceof ResourceNotFound)) {
    const text = messageOf(thrown) || "the tool failed";
    const missing = thrown instanceof MissingCapability;
    const result = { ...errorResult(text), ...(missing && { _meta: { [OUTCOME]: "missing_capability" } }) };
    return { type: "result", id, result };
  }
  return { type: "error", id, error: errorOf(thrown, modern) };
}

/** A result that is an error for the model to see. */
function errorResult(text: string): Record<string, unknown> {
  return { content: [{ type: "text", text }], isError: true };
}

function errorOf(thrown: unknown, modern: boolean): ErrorBody {
  const message = messageOf(thrown);
  if (thrown instanceof RpcError) {
    const { code, data } = thrown;
    return { code, message, ...(data !== undefined && { data }) };
  }
  if (thrown instanceof ResourceNotFound) {
    const code = modern ? INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND;
    return { code, message, data: { uri: thrown.uri } };
  }
  if (thrown instanceof MissingCapability) {
    if (modern) return { code: MISSING_CAPABILITY, message, data: { requiredCapabilities: thrown.required } };
    return { code: LEGACY_MISSING_CAPABILITY, message, data: { outcome: "missing_capability" } };
  }
  return { code: INTERNAL_ERROR, message };
}

/**
 * The frame of an answer. One that no message can carry, for its size or depth or because it is no
 * JSON, becomes an error that says so: sent as it is, it would cost the connection.
 */
export function encodeAnswer(answer: Answer, method: string, maxMessageBytes: number): string {
  const { id } = answer;
  const encoded = tryEncode(answer, maxMessageBytes);
  if ("text" in encoded) return encoded.text;
  const { problem } = encoded;
  if (answer.type === "result" && method === "tools/call") {
    return encodeMessage({ type: "result", id, result: errorResult(problem) });
  }
  const code = answer.type === "error" ? answer.error.code : INTERNAL_ERROR;
  return encodeMessage({ type: "error", id, error: { code, message: problem } });
}

function tryEncode(answer: Answer, maxMessageBytes: number): { text: string } | { problem: string } {
  let text: string;
  try {
    text = encodeMessage(answer);
  } catch (error) {
    return { problem: `the result cannot be sent: ${messageOf(error)}` };
  }
  if (!fits(text, maxMessageBytes)) {
    const problem =
      `the result takes a message of ${byteLength(text)} bytes, and a message may be ` +
      `at most ${maxMessageBytes} bytes (maxMessageBytes): ask for less`;
    return { problem };
  }
  if (isShallow(text)) return { text };
  return { problem: `the result cannot be sent: it is nested deeper than ${MAX_DEPTH} levels` };
}
