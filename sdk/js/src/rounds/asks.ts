/**
 * What an application can ask of an agent and of its user (MCP 2026-07-28, multi round-trip
 * requests): the request, the capability that it needs, and how to read the answer.
 */
import { compileSchema } from "../offer/schema.js";
import type { OutputOf, Schema } from "../offer/infer.js";

/** A request to the agent, as it stands in `inputRequests`. */
export interface InputRequest {
  method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  params?: Record<string, unknown>;
}

/** What a user did with a form. */
export type Elicited<Content> =
  | { action: "accept"; content: Content }
  | { action: "decline" | "cancel"; content?: undefined };

/** MCP's parameters of a sampling request; further members pass as they are. */
export interface SampleParams {
  messages: { role: "user" | "assistant"; content: unknown }[];
  maxTokens: number;
  systemPrompt?: string;
  temperature?: number;
  stopSequences?: string[];
  modelPreferences?: Record<string, unknown>;
  tools?: Record<string, unknown>[];
  toolChoice?: Record<string, unknown>;
  [member: string]: unknown;
}

/** MCP's result of a sampling request. */
export interface Sampled {
  role: "user" | "assistant";
  content: any;
  model: string;
  stopReason?: string;
  [member: string]: unknown;
}

/** A folder or file that the agent lets the application know. */
export interface Root {
  uri: string;
  name?: string;
  [member: string]: unknown;
}

/** A question, and the reader of its answer. */
export interface Ask<Answer> {
  readonly request: InputRequest;
  /** @throws for an answer that does not fit: the question is then put again */
  read(response: unknown): Answer | Promise<Answer>;
}

/** A form for the agent's user: its fields are the schema's, which has no nesting. */
export function elicitRequest(message: string, schema: Schema): InputRequest {
  return elicitAsk(message, schema).request;
}

/** An address that the agent's user is to visit. */
export function elicitUrlRequest(message: string, url: string): InputRequest {
  return elicitUrlAsk(message, url).request;
}

/** A message for the agent's model to answer. */
export function sampleRequest(params: SampleParams): InputRequest {
  return sampleAsk(params).request;
}

/** The question which folders and files the agent has. */
export function listRootsRequest(): InputRequest {
  return rootsAsk().request;
}

export function elicitAsk<S extends Schema>(message: string, schema: S): Ask<Elicited<OutputOf<S>>> {
  const { json, check } = compileSchema(schema, "input", "the schema of a question");
  // A form has no other keywords (MCP, PrimitiveSchemaDefinition); libraries write them nevertheless.
  const { $schema: _, additionalProperties: __, ...requestedSchema } = json;
  return {
    request: { method: "elicitation/create", params: { mode: "form", message, requestedSchema } },
    async read(response) {
      const action = actionOf(response);
      if (action !== "accept") return { action };
      const checked = await check(memberOf(response, "content"));
      if (checked.problems !== undefined) throw new TypeError(checked.problems);
      return { action, content: checked.value as OutputOf<S> };
    },
  };
}

export function elicitUrlAsk(
  message: string,
  url: string,
  elicitationId?: string,
): Ask<{ action: "accept" | "decline" | "cancel" }> {
  const params = { mode: "url", message, url, ...(elicitationId !== undefined && { elicitationId }) };
  return {
    request: { method: "elicitation/create", params },
    read: (response) => ({ action: actionOf(response) }),
  };
}

export function sampleAsk(params: SampleParams): Ask<Sampled> {
  return {
    request: { method: "sampling/createMessage", params: { ...params } },
    read(response) {
      if (typeof memberOf(response, "content") !== "object") throw new TypeError("no content");
      return response as Sampled;
    },
  };
}

export function rootsAsk(): Ask<Root[]> {
  return {
    request: { method: "roots/list" },
    read(response) {
      const roots = memberOf(response, "roots");
      if (!Array.isArray(roots)) throw new TypeError("no roots");
      return roots as Root[];
    },
  };
}

/** The capabilities that an agent lacks for a request; undefined if it has them. */
export function lacking(
  { method, params = {} }: InputRequest,
  capabilities: Record<string, unknown>,
): Record<string, unknown> | undefined {
  if (method === "roots/list") return capabilities["roots"] ? undefined : { roots: {} };
  if (method === "sampling/createMessage") {
    const { sampling } = capabilities;
    const withTools = params["tools"] !== undefined || params["toolChoice"] !== undefined;
    if (!withTools) return sampling ? undefined : { sampling: {} };
    return memberOf(sampling, "tools") ? undefined : { sampling: { tools: {} } };
  }
  const { elicitation } = capabilities;
  const mode = params["mode"] === "url" ? "url" : "form";
  // An agent that names no mode means forms (MCP, ClientCapabilities).
  const plain = mode === "form" && typeof elicitation === "object" && elicitation !== null && !("url" in elicitation);
  return plain || memberOf(elicitation, mode) ? undefined : { elicitation: { [mode]: {} } };
}

function actionOf(response: unknown): "accept" | "decline" | "cancel" {
  const action = memberOf(response, "action");
  if (action === "accept" || action === "decline" || action === "cancel") return action;
  throw new TypeError("no action");
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
