/** The application's side as a developer sees it: `connect` and the `App` that it returns. */
import { Connector } from "./connector.js";
import { Dispatcher } from "./dispatch.js";
import { Emitter } from "./emitter.js";
import { environmentFor, type Environment } from "./environment.js";
import { DEFAULT_LIMITS, encodeMessage } from "./messages.js";
import type { RegisteredMessage, Rejected, ServerMessage } from "./messages.js";
import { Offer, type Offered } from "./offer/offer.js";
import type { DynamicResources, Resources } from "./offer/resources.js";
import type { ConnectOptions, Status, TypedOptions, TypedPrompts, TypedTemplates, TypedTools } from "./options.js";
import { Registrar } from "./register.js";
import type { Session } from "./session.js";
import { TokenSource } from "./token.js";

export interface AppEvents {
  status: Status;
  /** entries of the registration that the bridge refused; the others are served */
  rejected: Rejected[];
  /** the URIs of the resources that somebody watches at present */
  subscriptions: readonly string[];
}

/**
 * Connects an application to a cluster and offers its tools, prompts and resources.
 * @throws TypeError for options that cannot work, RangeError for an offer too large to register
 */
export function connect<const Inputs, const Arguments, const Template extends string>(
  options: TypedOptions<Inputs, Arguments, Template>,
): App {
  checkOptions(options);
  return new App(options as ConnectOptions, environmentFor(options.WebSocket, options.logger));
}

/** A connected application; made by {@link connect}. */
export class App extends Emitter<AppEvents> {
  readonly #environment: Environment;
  readonly #registrar: Registrar;
  readonly #dispatcher: Dispatcher;
  readonly #connector: Connector;
  #offer: Offer;
  #subscriptions: readonly string[] = [];
  #status: Status = { state: "connecting" };
  #clientId: string | undefined;
  #maxMessageBytes = DEFAULT_LIMITS.maxMessageBytes;

  /** @internal */
  constructor(options: ConnectOptions, environment: Environment) {
    super();
    const { timers, logger } = environment;
    this.#environment = environment;
    const { tools = {}, prompts = {}, resources = {}, resourceTemplates = {} } = options;
    this.#offer = new Offer({ tools, prompts, resources, resourceTemplates });
    this.#registrar = new Registrar(options, this.#offer, this.#maxMessageBytes);
    this.#dispatcher = new Dispatcher({
      timers,
      logger,
      offer: () => this.#offer,
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

  /** The URIs of the resources that somebody watches at present. */
  get subscriptions(): readonly string[] {
    return this.#subscriptions;
  }

  /**
   * Replaces all tools, online or not.
   * @throws TypeError for a tool that cannot work, RangeError for an offer too large to register
   */
  setTools<const Inputs>(tools: TypedTools<Inputs>): void {
    this.#replace({ tools: tools as Offered["tools"] });
  }

  /** Replaces all prompts, as {@link App.setTools}. */
  setPrompts<const Arguments>(prompts: TypedPrompts<Arguments>): void {
    this.#replace({ prompts: prompts as Offered["prompts"] });
  }

  /** Replaces all resources but those of templates, as {@link App.setTools}. */
  setResources(resources: Resources | DynamicResources): void {
    this.#replace({ resources });
  }

  /** Replaces all resource templates, as {@link App.setTools}. */
  setResourceTemplates<const Template extends string>(templates: TypedTemplates<Template>): void {
    this.#replace({ resourceTemplates: templates as Offered["resourceTemplates"] });
  }

  /**
   * Tells those who watch a resource that it has changed. While the connection is lost there is
   * nobody to tell; the cluster has watchers read again once it is back.
   */
  resourceUpdated(uri: string): void {
    const method = "notifications/resources/updated";
    this.#connector.current?.send(encodeMessage({ type: "notify", method, params: { uri } }));
  }

  #replace(part: Partial<Offered>): void {
    const offer = new Offer({ ...this.#offer.given, ...part });
    const changed = this.#registrar.replace(offer, this.#maxMessageBytes);
    this.#offer = offer;
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
      case "subscriptions":
        if (session === this.#connector.current) this.#handleSubscriptions(message.uris);
        return;
      default:
      // A later bridge may say more than this SDK understands.
    }
  }

  #handleSubscriptions(uris: unknown): void {
    if (!Array.isArray(uris)) return;
    this.#subscriptions = uris.filter((uri) => typeof uri === "string");
    this.emit("subscriptions", this.#subscriptions);
  }
}

/** What callers without types may pass, as a setting that is not set: told at once, not tried again and again. */
function checkOptions({ url, serverInfo }: Pick<ConnectOptions, "url" | "serverInfo">): void {
  if (typeof url !== "string" || url === "") {
    throw new TypeError("clientmcp: `url` must be the address of the cluster, as wss://…/v1/connect");
  }
  if (typeof serverInfo?.name !== "string" || typeof serverInfo.version !== "string") {
    throw new TypeError("clientmcp: `serverInfo` must have a name and a version, both texts");
  }
}
