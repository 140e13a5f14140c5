/** From what a tool's handler returned to the result of its call. */
import { InputRequired } from "../rounds/input-required.js";

/**
 * MCP's result for a handler's value; an {@link InputRequired} stays what it is.
 * @throws TypeError for a value that JSON cannot express
 */
export function resultOf(value: unknown, structured: boolean): unknown {
  if (value === undefined) return { content: [] };
  if (isResult(value)) return value;
  if (typeof value === "string" && !structured) return { content: [{ type: "text", text: value }] };
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
  if (value instanceof InputRequired) return true;
  const { content, resultType } = value as Record<string, unknown>;
  return Array.isArray(content) || typeof resultType === "string";
}
