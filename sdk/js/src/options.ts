/** What an application passes to `connect`. */
import type { Logger, WebSocketConstructor } from "./environment.js";
import type { Implementation } from "./messages.js";
import type { Prompt, Prompts } from "./offer/prompts.js";
import type { DynamicResources, Resources, ResourceTemplate, ResourceTemplates } from "./offer/resources.js";
import type { Tool, Tools } from "./offer/tools.js";
import type { TokenCallback } from "./token.js";

export interface ConnectOptions {
  /** `wss://…/v1/connect` of the cluster */
  url: string;
  /** the token, or what yields one: asked again before it ends, and once after a refusal */
  token: string | TokenCallback;
  serverInfo: Implementation;
  /** what a model should know about the application as a whole */
  instructions?: string;
  tools?: Tools;
  prompts?: Prompts;
  /** by URI, or with a `list` and a `read` for resources that come and go */
  resources?: Resources | DynamicResources;
  /** by URI template (RFC 6570) */
  resourceTemplates?: ResourceTemplates;
  /** how long agents may keep lists, in milliseconds; 0 by default */
  ttlMs?: number;
  /** needed where there is no global WebSocket, as in Node.js 20 */
  WebSocket?: WebSocketConstructor;
  /** where problems are told to the developer: `console` by default, nowhere if null */
  logger?: Logger | null;
}

/** The same options, with each handler typed by its own schema, arguments or URI template. */
export interface TypedOptions<Inputs, Arguments, Template extends string>
  extends Omit<ConnectOptions, "tools" | "prompts" | "resourceTemplates"> {
  tools?: TypedTools<Inputs>;
  prompts?: TypedPrompts<Arguments>;
  resourceTemplates?: TypedTemplates<Template>;
}

export type TypedTools<Inputs> = { [Name in keyof Inputs]: Tool<Inputs[Name]> };
export type TypedPrompts<Arguments> = { [Name in keyof Arguments]: Prompt<Arguments[Name]> };
export type TypedTemplates<Template extends string> = { [Uri in Template]: ResourceTemplate<Uri> };

/** Where the connection stands. */
export interface Status {
  /**
   * - `connecting`: on the way to the bridge
   * - `online`: agents can call
   * - `offline`: lost; the SDK tries again by itself, after `retryInMs`
   * - `stopped`: closed, or useless to try again; `connect()` starts anew
   */
  state: "connecting" | "online" | "offline" | "stopped";
  /** the close code that led here */
  code?: number;
  /** what happened, and what to do about it */
  reason?: string;
  retryInMs?: number;
  /** the identity under which agents reach this application, as soon as it is known */
  clientId?: string;
}
