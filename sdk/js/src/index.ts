export { App, connect, type AppEvents } from "./client.js";
export type { AskOptions, CallContext, TaskOptions } from "./context.js";
export type { Logger, WebSocketConstructor, WebSocketLike } from "./environment.js";
export { CallCancelled, MissingCapability, ResourceNotFound, RpcError, ToolError } from "./errors.js";
export type { CancelReason, Implementation, LogLevel, Rejected } from "./messages.js";
export type { Completer, Completion } from "./offer/completion.js";
export type { JsonSchema, Schema } from "./offer/infer.js";
export { prompt } from "./offer/prompts.js";
export type { Prompt, PromptArgument, PromptMessage, PromptResult, Prompts } from "./offer/prompts.js";
export type { ResourceContent } from "./offer/resource-contents.js";
export type {
  DynamicResources,
  Resource,
  ResourceDefinition,
  ResourceList,
  Resources,
  ResourceTemplate,
  ResourceTemplates,
} from "./offer/resources.js";
export { withJsonSchema } from "./offer/schema.js";
export type { StandardSchema } from "./offer/standard-schema.js";
export { tool } from "./offer/tools.js";
export type { CallToolResult, Icon, Tool, ToolAnnotations, Tools } from "./offer/tools.js";
export type { ConnectOptions, Status } from "./options.js";
export { elicitRequest, elicitUrlRequest, listRootsRequest, sampleRequest } from "./rounds/asks.js";
export type { Elicited, InputRequest, Root, Sampled, SampleParams } from "./rounds/asks.js";
export { inputRequired, type InputRequired, type InputRequiredOptions } from "./rounds/input-required.js";
export type { TokenCallback, TokenReason, TokenRequest } from "./token.js";
