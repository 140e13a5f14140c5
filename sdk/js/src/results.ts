/** From what a handler returned, or threw, to the answer of its call. */
import { messageOf, RpcError } from "./errors.js";
import { byteLength, encodeMessage, fits, isShallow, MAX_DEPTH, type Answer } from "./messages.js";
import type { CallToolResult, Tool } from "./options.js";

/** A result that is an error for the model to see. */
export function errorResult(text: string): CallToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/**
 * MCP's result for a handler's value.
 * @throws TypeError for a value that JSON cannot express
 */
export function resultOf(value: unknown, tool: Pick<Tool, "outputSchema">): unknown {
  if (value === undefined) return { content: [] };
  if (isResult(value)) return value;
  if (typeof value === "string" && tool.outputSchema === undefined) {
    return { content: [{ type: "text", text: value }] };
  }
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError(`a tool returned a ${typeof value}, which is no JSON`);
  return {
    content: [{ type: "text", text: typeof value === "string" ? value : text }],
    structuredContent: value,
  };
}

/** A result in MCP's own form: of a tool call, or one that asks for input. */
function isResult(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { content, resultType } = value as Record<string, unknown>;
  return Array.isArray(content) || typeof resultType === "string";
}

/** The answer for what a handler threw. */
export function answerOfThrown(id: string, thrown: unknown): Answer {
  if (!(thrown instanceof RpcError)) {
    return { type: "result", id, result: errorResult(messageOf(thrown) || "the tool failed") };
  }
  const { code, message, data } = thrown;
  return { type: "error", id, error: { code, message, ...(data !== undefined && { data }) } };
}

/**
 * The frame of an answer. One that no message can carry, for its size or depth or because it is no
 * JSON, becomes an error that says so: sent as it is, it would cost the connection.
 */
export function encodeAnswer(answer: Answer, maxMessageBytes: number): string {
  const { id } = answer;
  const encoded = tryEncode(answer, maxMessageBytes);
  if ("text" in encoded) return encoded.text;
  const { problem } = encoded;
  if (answer.type === "result") {
    return encodeMessage({ type: "result", id, result: errorResult(problem) });
  }
  return encodeMessage({ type: "error", id, error: { code: answer.error.code, message: problem } });
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
