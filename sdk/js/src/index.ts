export { App, connect, type AppEvents } from "./client.js";
export type { Logger, WebSocketConstructor, WebSocketLike } from "./environment.js";
export { CallCancelled, RpcError, ToolError } from "./errors.js";
export type { CancelReason, Implementation, LogLevel, Rejected } from "./messages.js";
export type {
  CallContext,
  CallToolResult,
  ConnectOptions,
  JsonSchema,
  Status,
  Tool,
  ToolArguments,
  Tools,
} from "./options.js";
export type { TokenCallback, TokenReason, TokenRequest } from "./token.js";
