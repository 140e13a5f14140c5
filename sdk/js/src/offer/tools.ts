/** Tools: their definitions, and their calls. */
import type { CallContext } from "../context.js";
import { INVALID_PARAMS, RpcError, ToolError } from "../errors.js";
import type { InputRequired } from "../rounds/input-required.js";
import type { InputOf, JsonSchema, OutputOf, Schema } from "./infer.js";
import { resultOf } from "./tool-result.js";
import { compileSchema, type CompiledSchema } from "./schema.js";

/** MCP's result of a tool call; a handler that returns one has it passed on as it is. */
export interface CallToolResult {
  content: { type: string; [member: string]: unknown }[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
}

/** A picture for lists of tools, prompts and resources. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  [member: string]: unknown;
}

/** Hints for agents on what a tool does; they may be wrong, so nothing safe depends on them. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
  [member: string]: unknown;
}

/**
 * A tool. The members up to `_meta` are MCP's own and are passed on as they are, also those that are
 * not named here.
 */
export interface Tool<Input = any, Output = any> {
  title?: string;
  description?: string;
  /** what arguments it takes, an object; without one, an object of any shape */
  inputSchema?: Input;
  /** what its structured content is like */
  outputSchema?: Output;
  annotations?: ToolAnnotations;
  icons?: Icon[];
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
  /** client capabilities without which the tool cannot be called, as `{ elicitation: {} }` */
  requires?: Record<string, unknown>;
  /** whether calls may become tasks (`context.becomeTask`): `never`, which is the default, `optional` or `required` */
  task?: "never" | "optional" | "required";
  /** how long a call may take, in milliseconds, up to 900,000; 120,000 by default */
  timeoutMs?: number;
  /**
   * Does the work. A text becomes the result's text, a `CallToolResult` passes as it is, any other
   * JSON becomes structured content and its text. An error becomes a result with `isError`.
   */
  handler: (args: ArgumentsOf<NoInfer<Input>>, context: CallContext) => Returned<NoInfer<Output>>;
}

/** Arguments by an input schema; anything where there is none. */
export type ArgumentsOf<Input> = [unknown] extends [Input] ? any : OutputOf<Input>;

type Returned<Output> =
  [unknown] extends [Output] ? unknown
  : Awaitable<InputOf<Output> | CallToolResult | InputRequired>;

type Awaitable<T> = T | Promise<T>;

export type Tools = Record<string, Tool>;

/** Gives a tool that stands by itself the types that follow from its schemas. */
export function tool<const Input extends Schema, const Output extends Schema>(
  given: Tool<Input, Output>,
): Tool {
  return given as Tool;
}

const TASK_SUPPORT: unknown[] = [undefined, "never", "optional", "required"];

export class ToolSet {
  /** MCP's definitions, in the order in which the tools were given */
  readonly definitions: JsonSchema[] = [];
  /** what the bridge has to know of them, by name */
  readonly options: Record<string, JsonSchema> = {};
  readonly #tools = new Map<string, PreparedTool>();

  /** @throws TypeError for a tool that cannot work */
  constructor(tools: Tools) {
    for (const [name, tool] of Object.entries(tools)) {
      const prepared = prepare(name, tool);
      this.#tools.set(name, prepared);
      this.definitions.push(prepared.definition);
      if (Object.keys(prepared.options).length > 0) this.options[name] = prepared.options;
    }
  }

  /** @returns the result, or an {@link InputRequired} */
  async call(params: Record<string, unknown>, context: CallContext): Promise<unknown> {
    const name = String(params["name"]);
    const tool = this.#tools.get(name);
    if (!tool) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
    const value = await tool.handler(await checkedArguments(name, tool, params), context);
    const result = resultOf(value, tool.output !== undefined);
    await checkOutput(tool, result);
    return result;
  }
}

interface PreparedTool {
  definition: JsonSchema;
  options: JsonSchema;
  input: CompiledSchema | undefined;
  output: CompiledSchema | undefined;
  handler: Tool["handler"];
}

function prepare(name: string, tool: Tool): PreparedTool {
  const { handler, requires, timeoutMs, task, inputSchema, outputSchema, ...definition } = tool;
  if (typeof handler !== "function") throw new TypeError(`the tool ${name} has no handler`);
  if (!TASK_SUPPORT.includes(task)) {
    throw new TypeError(`the task of the tool ${name} must be never, optional or required`);
  }
  const input = inputSchema && compileSchema(inputSchema, "input", `the inputSchema of the tool ${name}`);
  const output = outputSchema && compileSchema(outputSchema, "output", `the outputSchema of the tool ${name}`);
  return {
    definition: {
      name,
      ...definition,
      inputSchema: input?.json ?? { type: "object" },
      ...(output && { outputSchema: output.json }),
    },
    options: {
      ...(requires !== undefined && { requires }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(task !== undefined && { task }),
    },
    input,
    output,
    handler: (args, context) => tool.handler(args, context),
  };
}

async function checkedArguments(
  name: string,
  { input }: PreparedTool,
  params: Record<string, unknown>,
): Promise<unknown> {
  const given = params["arguments"] ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new RpcError(INVALID_PARAMS, "arguments must be an object");
  }
  if (!input) return given;
  const checked = await input.check(given);
  if (checked.problems === undefined) return checked.value;
  throw new ToolError(`the arguments do not fit the inputSchema of ${name}:\n${checked.problems}`);
}

/** What an agent's own check would find wrong is said here, where a developer sees it. */
async function checkOutput({ output }: PreparedTool, result: unknown): Promise<void> {
  const { structuredContent, isError } = result as Partial<CallToolResult>;
  if (!output || isError === true || structuredContent === undefined) return;
  const checked = await output.check(structuredContent);
  if (checked.problems === undefined) return;
  throw new TypeError(`the tool's result does not fit its outputSchema:\n${checked.problems}`);
}
