/** Types of values from what describes them: schemas, prompt arguments, URI templates. */
import type { StandardSchema } from "./standard-schema.js";

/** A JSON Schema; passed on as it is. */
export type JsonSchema = Record<string, unknown>;

/** A schema: of a library that implements Standard Schema, or plain JSON Schema. */
export type Schema = StandardSchema | JsonSchema;

/** What a handler gets for a schema: the value after validation. */
export type OutputOf<S> = S extends Typed<any, infer Output> ? Output : FromJson<S>;

/** What a handler gives for a schema: the value before validation. */
export type InputOf<S> = S extends Typed<infer Input, any> ? Input : FromJson<S>;

/** As much of a Standard Schema as tells its types. */
interface Typed<Input, Output> {
  readonly "~standard": { readonly types?: { readonly input: Input; readonly output: Output } | undefined };
}

/** The values that a JSON Schema allows, as far as the usual keywords tell; else anything. */
export type FromJson<S> =
  S extends { readonly const: infer Value } ? Value
  : S extends { readonly enum: readonly (infer Value)[] } ? Value
  : S extends { readonly type: "string" } ? string
  : S extends { readonly type: "number" | "integer" } ? number
  : S extends { readonly type: "boolean" } ? boolean
  : S extends { readonly type: "null" } ? null
  : S extends { readonly type: "array"; readonly items: infer Items } ? FromJson<Items>[]
  : S extends { readonly type: "object"; readonly properties: infer Properties } ?
    FromProperties<Properties, S extends { readonly required: readonly (infer Name)[] } ? Name : never>
  : any;

type FromProperties<Properties, Required> = Simple<
  { -readonly [Name in keyof Properties as Name extends Required ? Name : never]: FromJson<Properties[Name]> } & {
    -readonly [Name in keyof Properties as Name extends Required ? never : Name]?: FromJson<Properties[Name]>;
  }
>;

/** One object type instead of an intersection, for readable messages of the compiler. */
export type Simple<T> = { [Name in keyof T]: T[Name] };

/** The variables of a URI template: those of a query (`{?q}`) may be absent. */
export type Variables<Template> =
  string extends Template ? Record<string, string>
  : Simple<
      { [Name in Names<Template, never>]: string } & { [Name in Names<Template, "query">]?: string }
    >;

type Names<Template, Kind> =
  Template extends `${string}{${infer Expression}}${infer Rest}` ? NamesIn<Expression, Kind> | Names<Rest, Kind>
  : never;

type NamesIn<Expression, Kind> =
  Expression extends `?${infer List}` ? (Kind extends "query" ? Split<List> : never)
  : [Kind] extends [never] ? Split<WithoutOperator<Expression>>
  : never;

type WithoutOperator<Expression> =
  Expression extends `${"+" | "#" | "." | "/"}${infer List}` ? List : Expression;

type Split<List> =
  List extends `${infer First},${infer Rest}` ? First | Split<Rest>
  : List extends string ? List
  : never;
