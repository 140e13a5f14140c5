/**
 * Standard Schema (standardschema.dev), which zod, valibot, arktype and others implement: how a
 * schema says what it takes, and, where the library has the Standard JSON Schema part, what it is
 * as JSON Schema. The specification asks libraries to copy these types rather than to depend on them.
 */

/** A schema of any library that implements Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Standard JSON Schema; not every library has it. */
    readonly jsonSchema?: StandardJsonSchema;
  };
}

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export interface StandardJsonSchema {
  /** what the schema takes */
  readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
  /** what the schema yields */
  readonly output: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown>;
}

export function isStandardSchema(given: unknown): given is StandardSchema {
  if (given === null || (typeof given !== "object" && typeof given !== "function")) return false;
  const standard = (given as Partial<StandardSchema>)["~standard"];
  return typeof standard?.validate === "function";
}
