/** Resources: what agents may read, one by one, by templates of URIs, or listed as they come and go. */
import type { CallContext } from "../context.js";
import { INVALID_PARAMS, ResourceNotFound, RpcError } from "../errors.js";
import type { InputRequired } from "../rounds/input-required.js";
import type { Completer } from "./completion.js";
import type { JsonSchema, Variables } from "./infer.js";
import { contentsOf, type Readable } from "./resource-contents.js";
import type { Icon } from "./tools.js";
import { UriTemplate } from "./uri-template.js";

/** What resources and templates have in common. Members that are not named here are passed on. */
interface About {
  title?: string;
  description?: string;
  mimeType?: string;
  annotations?: Record<string, unknown>;
  icons?: Icon[];
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
}

/** MCP's definition of a resource, for lists. */
export interface ResourceDefinition extends About {
  uri: string;
  /** for programs, and for people where there is no title */
  name: string;
  /** in bytes */
  size?: number;
}

type Contents = Readable | InputRequired | undefined | null;
type Awaitable<T> = T | Promise<T>;

/** A resource; its URI is the key under which it stands. */
export interface Resource extends About {
  /** the URI by default */
  name?: string;
  /** in bytes */
  size?: number;
  /** Reads it: a text, bytes, a Blob, or contents in MCP's own form; nothing says that it is not there. */
  read: (uri: string, context: CallContext) => Awaitable<Contents>;
}

export type Resources = Record<string, Resource>;

/** Resources that come and go: agents' lists are asked of the application each time. */
export interface DynamicResources {
  list: (context: CallContext, cursor: string | undefined) => Awaitable<ResourceList>;
  /** Reads one, also one that is not in the list; nothing says that it is not there. */
  read: (uri: string, context: CallContext) => Awaitable<Contents>;
}

/** Definitions, or a page of them. */
export type ResourceList = ResourceDefinition[] | { resources: ResourceDefinition[]; nextCursor?: string };

/** Resources whose URIs follow a template (RFC 6570), which is the key under which it stands. */
export interface ResourceTemplate<Template = string> extends About {
  /** the template by default */
  name?: string;
  /** values to suggest for the variables */
  complete?: { [Name in keyof Variables<Template>]?: Completer };
  /** The resources that there are at present, for lists. */
  list?: (context: CallContext) => Awaitable<ResourceDefinition[]>;
  /** Reads one; nothing says that it is not there. */
  read: (uri: string, variables: Variables<Template>, context: CallContext) => Awaitable<Contents>;
}

export type ResourceTemplates = Record<string, ResourceTemplate<any>>;

interface Template {
  definition: JsonSchema;
  uri: UriTemplate;
  given: ResourceTemplate<any>;
}

export class ResourceSet {
  /** MCP's definitions, or `dynamic` if lists are asked of the application */
  readonly definitions: JsonSchema[] | "dynamic";
  readonly #fixed: Map<string, Resource>;
  readonly #dynamic: DynamicResources | undefined;
  readonly #templates: Map<string, Template>;

  /** @throws TypeError for a resource or template that cannot be read */
  constructor(resources: Resources | DynamicResources, templates: ResourceTemplates) {
    this.#dynamic = isDynamic(resources) ? resources : undefined;
    this.#fixed = new Map(isDynamic(resources) ? [] : Object.entries(resources));
    this.#templates = new Map(Object.entries(templates).map(([uri, given]) => [uri, templateOf(uri, given)]));
    const listed = [...this.#fixed].map(([uri, resource]) => definitionOf("resource", "uri", uri, resource));
    const asked = this.#dynamic !== undefined || Object.values(templates).some(({ list }) => list !== undefined);
    this.definitions = asked ? "dynamic" : listed;
  }

  get templates(): JsonSchema[] {
    return [...this.#templates.values()].map(({ definition }) => definition);
  }

  get complete(): boolean {
    return [...this.#templates.values()].some(({ given }) => Object.keys(given.complete ?? {}).length > 0);
  }

  /** @throws RpcError if there is no such template */
  completerOf(uriTemplate: string, variable: string): Completer | undefined {
    const template = this.#templates.get(uriTemplate);
    if (!template) throw new RpcError(INVALID_PARAMS, `Unknown resource template: ${uriTemplate}`);
    const completers = (template.given.complete ?? {}) as Record<string, Completer>;
    return Object.hasOwn(completers, variable) ? completers[variable] : undefined;
  }

  /** Answers `resources/list`: pages, if there are any, are those of the dynamic list. */
  async list(params: Record<string, unknown>, context: CallContext): Promise<unknown> {
    const cursor = typeof params["cursor"] === "string" ? params["cursor"] : undefined;
    const page = pageOf((await this.#dynamic?.list(context, cursor)) ?? []);
    if (cursor !== undefined) return page;
    const fixed = [...this.#fixed].map(([uri, resource]) => definitionOf("resource", "uri", uri, resource));
    const templated = await Promise.all([...this.#templates.values()].map(({ given }) => given.list?.(context) ?? []));
    return { ...page, resources: [...fixed, ...templated.flat(), ...page.resources] };
  }

  /**
   * Answers `resources/read`.
   * @returns the result, or an `InputRequired`
   */
  async read(params: Record<string, unknown>, context: CallContext): Promise<unknown> {
    const uri = String(params["uri"]);
    const { mimeType, value } = await this.#read(uri, context);
    if (value === undefined || value === null) throw new ResourceNotFound(uri);
    return contentsOf(value, uri, mimeType);
  }

  async #read(uri: string, context: CallContext): Promise<{ mimeType?: string | undefined; value: Contents }> {
    const fixed = this.#fixed.get(uri);
    if (fixed) return { mimeType: fixed.mimeType, value: await fixed.read(uri, context) };
    for (const { uri: template, given } of this.#templates.values()) {
      const variables = template.match(uri);
      if (variables) return { mimeType: given.mimeType, value: await given.read(uri, variables, context) };
    }
    return { value: await this.#dynamic?.read(uri, context) };
  }
}

function isDynamic(resources: Resources | DynamicResources): resources is DynamicResources {
  return typeof resources["list"] === "function";
}

function templateOf(uri: string, given: ResourceTemplate<any>): Template {
  const { complete: _, list: __, ...definition } = given;
  return {
    definition: definitionOf("resource template", "uriTemplate", uri, definition),
    uri: new UriTemplate(uri),
    given,
  };
}

function definitionOf(
  what: string,
  member: "uri" | "uriTemplate",
  uri: string,
  { read, ...definition }: { read?: unknown; [member: string]: unknown },
): JsonSchema {
  if (typeof read !== "function") throw new TypeError(`the ${what} ${uri} has no read`);
  return Object.assign({ [member]: uri, name: uri }, definition, { [member]: uri });
}

function pageOf(list: ResourceList): { resources: ResourceDefinition[]; nextCursor?: string } {
  return Array.isArray(list) ? { resources: list } : list;
}
