/** Schemas as the SDK uses them: their JSON Schema, for agents, and a check of values. */
import { Validator, type OutputUnit, type SchemaDraft } from "@cfworker/json-schema";
import { messageOf } from "../errors.js";
import type { JsonSchema, Schema } from "./infer.js";
import { isStandardSchema, type StandardIssue, type StandardSchema } from "./standard-schema.js";

/** A value that fits, as the schema's library made it, or what is wrong, one problem a line. */
export type Checked = { value: unknown; problems?: undefined } | { problems: string };

export interface CompiledSchema {
  readonly json: JsonSchema;
  check(value: unknown): Checked | Promise<Checked>;
}

/** More says little that a model could act on. */
const PROBLEMS_TOLD = 8;
/** Arguments may have a problem for each of a million entries. */
const PROBLEMS_LOOKED_AT = 100;

/**
 * Prepares a schema.
 * @param side whether values are checked before a handler gets them, or after it gave them
 * @param what names it in errors, as `the inputSchema of the tool add`
 * @throws TypeError for what is no schema, or cannot be told to agents
 */
export function compileSchema(given: Schema, side: "input" | "output", what: string): CompiledSchema {
  if (isStandardSchema(given)) return compileStandard(given, side, what);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`${what} must be a JSON Schema or a Standard Schema (zod, valibot, arktype, …)`);
  }
  return compileJson(given, what);
}

/**
 * Gives a Standard Schema the JSON Schema that its library cannot tell by itself: the first
 * validates, the second is what agents see.
 */
export function withJsonSchema<Input, Output>(
  schema: StandardSchema<Input, Output>,
  json: JsonSchema,
): StandardSchema<Input, Output> {
  const { version, vendor, validate } = schema["~standard"];
  return { "~standard": { version, vendor, validate, jsonSchema: { input: () => json, output: () => json } } };
}

function compileStandard(schema: StandardSchema, side: "input" | "output", what: string): CompiledSchema {
  const { vendor, jsonSchema, validate } = schema["~standard"];
  if (jsonSchema === undefined) {
    const how =
      vendor === "valibot"
        ? "toStandardJsonSchema(schema) of @valibot/to-json-schema"
        : "withJsonSchema(schema, itsJsonSchema)";
    throw new TypeError(`${what} is a ${vendor} schema that cannot tell its JSON Schema: pass ${how} instead`);
  }
  let json: JsonSchema;
  try {
    json = jsonSchema[side]({ target: "draft-2020-12" });
  } catch (error) {
    throw new TypeError(`${what} cannot be written as JSON Schema: ${messageOf(error)}`, { cause: error });
  }
  return {
    json,
    async check(value) {
      const result = await validate(value);
      if (!result.issues) return { value: result.value };
      return { problems: problemsOf(result.issues.slice(0, PROBLEMS_LOOKED_AT).map(issueText)) };
    },
  };
}

function compileJson(json: JsonSchema, what: string): CompiledSchema {
  let validator: Validator | undefined;
  return {
    json,
    check(value) {
      try {
        validator ??= new Validator(json, draftOf(json), false);
        const { valid, errors } = validator.validate(value);
        return valid ? { value } : { problems: problemsOf(causes(errors).map(unitText)) };
      } catch (error) {
        throw new TypeError(`${what} is no JSON Schema that can be used: ${messageOf(error)}`, { cause: error });
      }
    },
  };
}

function draftOf({ $schema }: JsonSchema): SchemaDraft {
  if (typeof $schema !== "string") return "2020-12";
  if (/draft-0?[67]\b/.test($schema)) return "7";
  if (/draft-0?4\b/.test($schema)) return "4";
  return $schema.includes("2019-09") ? "2019-09" : "2020-12";
}

/** The validator also reports each schema that holds a broken one: those say nothing. */
function causes(errors: OutputUnit[]): OutputUnit[] {
  const looked = errors.slice(0, PROBLEMS_LOOKED_AT);
  const holdsAnother = (at: string): boolean => looked.some((other) => other.keywordLocation.startsWith(`${at}/`));
  return looked.filter(({ keywordLocation }) => !holdsAnother(keywordLocation));
}

function unitText({ instanceLocation, error }: OutputUnit): string {
  const path = instanceLocation.replace(/^#\/?/, "").split("/").map(unescapePointer).join(".");
  return path === "" ? error : `${path}: ${error}`;
}

function unescapePointer(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function issueText({ message, path = [] }: StandardIssue): string {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
}

function problemsOf(texts: string[]): string {
  const told = texts.slice(0, PROBLEMS_TOLD);
  if (texts.length > told.length) told.push("and more");
  return told.join("\n");
}
