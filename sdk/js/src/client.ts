/** The application's side as a developer sees it: `connect` and the `App` that it returns. */
import { Connector } from "./connector.js";
import { Dispatcher } from "./dispatch.js";
import { Emitter } from "./emitter.js";
import { environmentFor, type Environment } from "./environment.js";
import { DEFAULT_LIMITS, type RegisteredMessage, type Rejected, type ServerMessage } from "./messages.js";
import type { ConnectOptions, Status, Tools } from "./options.js";
import { Registrar } from "./register.js";
import type { Session } from "./session.js";
import { TokenSource } from "./token.js";

export interface AppEvents {
  status: Status;
  /** entries of the registration that the bridge refused; the others are served */
  rejected: Rejected[];
}

/**
 * Connects an application to a cluster and offers its tools.
 * @throws TypeError for options that cannot work, RangeError for tools too large to register
 */
export function connect(options: ConnectOptions): App {
  checkOptions(options);
  return new App(options, environmentFor(options.WebSocket, options.logger));
}

/** A connected application; made by {@link connect}. */
export class App extends Emitter<AppEvents> {
  readonly #environment: Environment;
  readonly #registrar: Registrar;
  readonly #dispatcher: Dispatcher;
  readonly #connector: Connector;
  #tools: Tools;
  #status: Status = { state: "connecting" };
  #clientId: string | undefined;
  #maxMessageBytes = DEFAULT_LIMITS.maxMessageBytes;

  /** @internal */
  constructor(options: ConnectOptions, environment: Environment) {
    super();
    const { timers, logger } = environment;
    this.#environment = environment;
    this.#tools = { ...options.tools };
    this.#registrar = new Registrar(options, this.#maxMessageBytes);
    this.#dispatcher = new Dispatcher({
      timers,
      logger,
      tools: () => this.#tools,
    });
    this.#connector = new Connector({
      environment,
      url: options.url,
      registrar: this.#registrar,
      tokens: new TokenSource(options.token, timers),
      handlers: {
        handleStatus: (status) => this.#handleStatus(status),
        handleRegistered: (message) => this.#handleRegistered(message),
        handleMessage: (session, message) => this.#handleMessage(session, message),
      },
    });
    this.#connector.start();
  }

  /** Where the connection stands at present. */
  get status(): Status {
    return this.#status;
  }

  /** The identity under which agents reach this application, as soon as it is known. */
  get clientId(): string | undefined {
    return this.#clientId;
  }

  /** Starts anew after `stopped`, be it by {@link App.close} or by the bridge. */
  connect(): void {
    this.#connector.start();
  }

  /** Leaves the cluster: agents are told at once that the application is offline. */
  close(): void {
    this.#dispatcher.cancelAll();
    this.#connector.close();
  }

  /**
   * Replaces all tools.
   * @throws TypeError for a tool without a handler, RangeError for tools too large to register
   */
  setTools(tools: Tools): void {
    const changed = this.#registrar.setTools(tools, this.#maxMessageBytes);
    this.#tools = { ...tools };
    if (changed) this.#connector.register();
  }

  protected override handleListenerError(error: unknown): void {
    this.#environment.logger.warn("clientmcp: a listener failed", error);
  }

  #handleStatus(status: Status): void {
    this.#status = { ...status, ...(this.#clientId !== undefined && { clientId: this.#clientId }) };
    this.emit("status", this.#status);
  }

  #handleRegistered(message: RegisteredMessage): void {
    this.#clientId = message.clientId;
    this.#maxMessageBytes = message.limits?.maxMessageBytes ?? this.#maxMessageBytes;
    if (this.#status.state !== "online") this.#handleStatus({ state: "online" });
    const { rejected = [] } = message;
    if (rejected.length === 0) return;
    for (const { kind, name, reason } of rejected) {
      this.#environment.logger.warn(`clientmcp: ${kind}${name ? `: ${name}` : ""} was refused: ${reason}`);
    }
    this.emit("rejected", rejected);
  }

  #handleMessage(session: Session, message: ServerMessage): void {
    switch (message.type) {
      case "call":
        if (typeof message.id === "string") this.#dispatcher.handleCall(message, session);
        return;
      case "cancel":
        return this.#dispatcher.handleCancel(message.id, message.reason ?? "agent", session);
      case "settled":
        return this.#dispatcher.handleSettled(message.ids);
      default:
      // A later bridge may say more than this SDK understands (`subscriptions` already does).
    }
  }
}

/** What callers without types may pass, as a setting that is not set: told at once, not tried again and again. */
function checkOptions({ url, serverInfo }: ConnectOptions): void {
  if (typeof url !== "string" || url === "") {
    throw new TypeError("clientmcp: `url` must be the address of the cluster, as wss://…/v1/connect");
  }
  if (typeof serverInfo?.name !== "string" || typeof serverInfo.version !== "string") {
    throw new TypeError("clientmcp: `serverInfo` must have a name and a version, both texts");
  }
}
