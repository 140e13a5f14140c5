/** Prompts: texts that agents offer their users to start from. */
import type { CallContext } from "../context.js";
import { INVALID_PARAMS, RpcError } from "../errors.js";
import { InputRequired } from "../rounds/input-required.js";
import type { Completer } from "./completion.js";
import type { JsonSchema, Simple } from "./infer.js";
import type { Icon } from "./tools.js";

/** An argument of a prompt; its value is a text. */
export interface PromptArgument {
  title?: string;
  description?: string;
  /** without it, the prompt works without the argument */
  required?: boolean;
  /** values to suggest while the user types: a list, or what yields one */
  complete?: Completer;
  [member: string]: unknown;
}

/** MCP's result of `prompts/get`; a handler that returns one has it passed on as it is. */
export interface PromptResult {
  description?: string;
  messages: PromptMessage[];
  [member: string]: unknown;
}

export interface PromptMessage {
  role: "user" | "assistant";
  content: { type: string; [member: string]: unknown };
  [member: string]: unknown;
}

/** A prompt. Members that are not named here are passed on as they are. */
export interface Prompt<Arguments = any> {
  title?: string;
  description?: string;
  /** by name, in the order in which users see them */
  arguments?: Arguments & Record<string, PromptArgument>;
  icons?: Icon[];
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
  /** Writes the prompt: a text becomes one message of the user. */
  handler: (args: PromptValues<Arguments>, context: CallContext) => PromptAnswer | Promise<PromptAnswer>;
}

type PromptAnswer = string | PromptMessage[] | PromptResult | InputRequired;

/** The values of a prompt's arguments: those that are not required may be absent. */
export type PromptValues<Arguments> =
  [unknown] extends [Arguments] ? any
  : Simple<
      { -readonly [Name in keyof Arguments as Arguments[Name] extends { required: true } ? Name : never]: string } & {
        -readonly [Name in keyof Arguments as Arguments[Name] extends { required: true } ? never : Name]?: string;
      }
    >;

export type Prompts = Record<string, Prompt>;

/** Gives a prompt that stands by itself the types that follow from its arguments. */
export function prompt<const Arguments extends Record<string, PromptArgument>>(given: Prompt<Arguments>): Prompt {
  return given as Prompt;
}

export class PromptSet {
  /** MCP's definitions, in the order in which the prompts were given */
  readonly definitions: JsonSchema[];
  readonly #prompts: Map<string, Prompt>;

  /** @throws TypeError for a prompt without a handler */
  constructor(prompts: Prompts) {
    this.#prompts = new Map(Object.entries(prompts));
    this.definitions = [...this.#prompts].map(([name, prompt]) => definitionOf(name, prompt));
  }

  /** @returns the result, or an {@link InputRequired} */
  async get(params: Record<string, unknown>, context: CallContext): Promise<unknown> {
    const name = String(params["name"]);
    const prompt = this.find(name);
    const value = await prompt.handler(checkedValues(name, prompt, params["arguments"] ?? {}), context);
    if (typeof value === "string") {
      return { messages: [{ role: "user", content: { type: "text", text: value } }] };
    }
    return Array.isArray(value) ? { messages: value } : value;
  }

  /** @throws RpcError if there is none of this name */
  find(name: string): Prompt {
    const prompt = this.#prompts.get(name);
    if (!prompt) throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${name}`);
    return prompt;
  }

  get complete(): boolean {
    const all = [...this.#prompts.values()].flatMap(argumentsOf);
    return all.some(([, { complete }]) => complete !== undefined);
  }
}

function definitionOf(name: string, prompt: Prompt): JsonSchema {
  const { handler, arguments: given, ...definition } = prompt;
  if (typeof handler !== "function") throw new TypeError(`the prompt ${name} has no handler`);
  if (given === undefined) return { name, ...definition };
  const list = argumentsOf(prompt).map(([argument, { complete: _, ...members }]) => ({ name: argument, ...members }));
  return { name, ...definition, arguments: list };
}

export function argumentsOf({ arguments: given = {} }: Prompt): [name: string, argument: PromptArgument][] {
  return Object.entries(given as Record<string, PromptArgument>);
}

function checkedValues(name: string, prompt: Prompt, given: unknown): Record<string, string> {
  const problem = (text: string): RpcError => new RpcError(INVALID_PARAMS, `the prompt ${name}: ${text}`);
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw problem("arguments must be an object");
  for (const [argument, value] of Object.entries(given)) {
    if (typeof value !== "string") throw problem(`the argument ${argument} must be a text`);
  }
  for (const [argument, { required }] of argumentsOf(prompt)) {
    if (required && !Object.hasOwn(given, argument)) throw problem(`the argument ${argument} is missing`);
  }
  return given as Record<string, string>;
}
