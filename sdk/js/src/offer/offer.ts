/** All that an application offers: what of it is registered, and which handler a call is for. */
import type { CallContext } from "../context.js";
import { METHOD_NOT_FOUND, RpcError } from "../errors.js";
import { complete } from "./completion.js";
import { PromptSet, type Prompts } from "./prompts.js";
import { ResourceSet, type DynamicResources, type Resources, type ResourceTemplates } from "./resources.js";
import { ToolSet, type Tools } from "./tools.js";

/** What an application offers, as it says it. */
export interface Offered {
  tools: Tools;
  prompts: Prompts;
  resources: Resources | DynamicResources;
  resourceTemplates: ResourceTemplates;
}

/** What is registered of an offer, by kind, in the members of a `register` (SPEC.md §4.4). */
export interface OfferContent {
  tools: Record<string, unknown>;
  prompts: Record<string, unknown>;
  resources: Record<string, unknown>;
  /** the offer's part of this kind */
  rest: Record<string, unknown>;
}

export class Offer {
  readonly given: Offered;
  readonly #tools: ToolSet;
  readonly #prompts: PromptSet;
  readonly #resources: ResourceSet;

  /** @throws TypeError for a part that cannot work */
  constructor(given: Offered) {
    const { tools, prompts, resources, resourceTemplates } = given;
    // What the caller does to its objects later changes nothing.
    this.given = {
      tools: { ...tools },
      prompts: { ...prompts },
      resources,
      resourceTemplates: { ...resourceTemplates },
    };
    this.#tools = new ToolSet(tools);
    this.#prompts = new PromptSet(prompts);
    this.#resources = new ResourceSet(resources, resourceTemplates);
  }

  get content(): OfferContent {
    const { definitions, templates } = this.#resources;
    return {
      tools: { tools: this.#tools.definitions },
      prompts: this.#prompts.definitions.length > 0 ? { prompts: this.#prompts.definitions } : {},
      resources: {
        ...(definitions.length > 0 && { resources: definitions }),
        ...(templates.length > 0 && { resourceTemplates: templates }),
      },
      rest: {
        ...(Object.keys(this.#tools.options).length > 0 && { toolOptions: this.#tools.options }),
        ...((this.#prompts.complete || this.#resources.complete) && { completions: true }),
      },
    };
  }

  /**
   * Runs the handler that a request is for.
   * @returns MCP's result, or an `InputRequired`
   */
  async answer(method: string, params: Record<string, unknown>, context: CallContext): Promise<unknown> {
    switch (method) {
      case "tools/call":
        return this.#tools.call(params, context);
      case "prompts/get":
        return this.#prompts.get(params, context);
      case "resources/read":
        return this.#resources.read(params, context);
      case "resources/list":
        return this.#resources.list(params, context);
      case "completion/complete":
        return complete(params, { prompts: this.#prompts, resources: this.#resources }, context);
      default:
        throw new RpcError(METHOD_NOT_FOUND, `the application does not offer ${method}`);
    }
  }
}
