/** Completion: values to suggest while a user fills in a prompt's argument or a template's variable. */
import type { CallContext } from "../context.js";
import { INVALID_PARAMS, RpcError } from "../errors.js";
import { argumentsOf, type PromptSet } from "./prompts.js";
import type { ResourceSet } from "./resources.js";

/**
 * Values to suggest: a list, of which those are taken that begin with what was typed, or a function
 * that gets what was typed and what the other arguments are, and yields the values.
 */
export type Completer =
  | readonly string[]
  | ((value: string, others: Record<string, string>, context: CallContext) => Completion | Promise<Completion>);

/** Values, or values of which there are more than are worth sending. */
export type Completion = readonly string[] | { values: readonly string[]; total?: number; hasMore?: boolean };

/** MCP's bound of the values in an answer. */
const MAX_VALUES = 100;

interface CompleteParams {
  ref?: { type?: unknown; name?: unknown; uri?: unknown };
  argument?: { name?: unknown; value?: unknown };
  context?: { arguments?: Record<string, string> };
}

/** Answers `completion/complete`. */
export async function complete(
  given: Record<string, unknown>,
  { prompts, resources }: { prompts: PromptSet; resources: ResourceSet },
  context: CallContext,
): Promise<unknown> {
  const { ref = {}, argument = {}, context: { arguments: others = {} } = {} } = given as CompleteParams;
  const { name, value } = argument;
  if (typeof name !== "string" || typeof value !== "string") {
    throw new RpcError(INVALID_PARAMS, "argument must have a name and a value, both texts");
  }
  let completer: Completer | undefined;
  if (ref.type === "ref/prompt") {
    const prompt = prompts.find(String(ref.name));
    completer = argumentsOf(prompt).find(([known]) => known === name)?.[1].complete;
  } else if (ref.type === "ref/resource") {
    completer = resources.completerOf(String(ref.uri), name);
  } else {
    throw new RpcError(INVALID_PARAMS, "ref must be of the type ref/prompt or ref/resource");
  }
  return { completion: completionOf(await valuesOf(completer, value, others, context)) };
}

function valuesOf(
  completer: Completer | undefined,
  value: string,
  others: Record<string, string>,
  context: CallContext,
): Completion | Promise<Completion> {
  if (typeof completer === "function") return completer(value, others, context);
  const typed = value.toLowerCase();
  return (completer ?? []).filter((suggestion) => suggestion.toLowerCase().startsWith(typed));
}

function completionOf(given: Completion): unknown {
  const { values, total = values.length, hasMore = total > MAX_VALUES } = isList(given) ? { values: given } : given;
  return { values: values.slice(0, MAX_VALUES), total, hasMore };
}

function isList(given: Completion): given is readonly string[] {
  return Array.isArray(given);
}
