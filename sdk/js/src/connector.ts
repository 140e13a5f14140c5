/**
 * Keeps one registered connection: connects, connects again after a loss as the close code demands,
 * and moves to another node when the cluster asks for it (SPEC.md, close codes and move).
 *
 * During a move two sessions exist: the current one serves until the next one is registered, and
 * then finishes what it carries while the cluster closes it. Only the current session's close code
 * counts, and that of the one on its way.
 */
import { messageOf } from "./errors.js";
import type { Environment } from "./environment.js";
import type { MoveMessage, RegisteredMessage, ServerMessage } from "./messages.js";
import type { Status } from "./options.js";
import { closeText, isReported, Reconnect } from "./reconnect.js";
import type { Registrar } from "./register.js";
import { Session } from "./session.js";
import type { Cancel } from "./timers.js";
import { NoToken, type TokenSource } from "./token.js";

/** How long a session that was taken over from may finish what it carries. */
const RETIREMENT_MS = 30_000;

export interface ConnectorHandlers {
  handleStatus(status: Status): void;
  handleRegistered(message: RegisteredMessage): void;
  handleMessage(session: Session, message: ServerMessage): void;
}

export interface ConnectorParts {
  environment: Environment;
  url: string;
  registrar: Registrar;
  tokens: TokenSource;
  handlers: ConnectorHandlers;
}

export class Connector {
  readonly #parts: ConnectorParts;
  readonly #reconnect: Reconnect;
  #started = false;
  /** The registered session that is in use. */
  #current: Session | undefined;
  /** The session on its way to take over. */
  #next: Session | undefined;
  /** Sessions that were taken over from, with the end of their patience. */
  readonly #retired = new Map<Session, Cancel>();
  /** Set while the next connection waits for its time. */
  #cancelWait: Cancel | undefined;
  /** Identifies the attempt that is under way; answers that come for older ones are dropped. */
  #attempt = 0;
  /** An attempt waits for its token. */
  #askingToken = false;
  #connections = 0;
  #cancelWatch: Cancel = () => {};

  constructor(parts: ConnectorParts) {
    this.#parts = parts;
    this.#reconnect = new Reconnect(parts.environment.random);
  }

  get current(): Session | undefined {
    return this.#current;
  }

  get started(): boolean {
    return this.#started;
  }

  /** Connects, whatever stopped it before. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#reconnect.reset();
    this.#parts.tokens.reset();
    this.#cancelWatch = this.#parts.environment.watchPage({
      handleOnline: () => this.#handleOnline(),
      handleVisible: () => this.#current?.probe(),
    });
    void this.#open(this.#parts.url);
  }

  /** Leaves for good. */
  close(): void {
    if (this.#started) this.#stop(1000, "closed by the application");
  }

  /** Registers again on whatever is connected. */
  register(): void {
    this.#current?.register();
    this.#next?.register();
  }

  async #open(url: string): Promise<void> {
    const attempt = ++this.#attempt;
    this.#cancelWait = undefined;
    this.#askingToken = true;
    if (!this.#current) this.#parts.handlers.handleStatus({ state: "connecting" });
    if (attempt !== this.#attempt) return;
    let token: string;
    try {
      token = await this.#parts.tokens.next();
      if (attempt !== this.#attempt) return;
      this.#askingToken = false;
    } catch (error) {
      if (attempt === this.#attempt) this.#handleNoToken(error);
      return;
    }
    this.#connect(url, token);
  }

  #connect(url: string, token: string): void {
    const { environment, registrar, tokens } = this.#parts;
    const parts = { environment, registrar, tokens, handlers: this.#sessionHandlers };
    try {
      this.#next = new Session(parts, url, token, ++this.#connections);
    } catch (error) {
      this.#stop(undefined, `${url} is no URL of a WebSocket: ${messageOf(error)}`, true);
    }
  }

  #handleNoToken(error: unknown): void {
    this.#askingToken = false;
    if (error instanceof NoToken) return this.#stop(4401, error.message, true);
    const reason = `the token callback failed: ${messageOf(error)}`;
    this.#parts.environment.logger.warn(`clientmcp: ${reason}`);
    this.#wait(this.#reconnect.nextDelay("backoff"), undefined, reason);
  }

  readonly #sessionHandlers = {
    isMoving: (session: Session): boolean => this.#current !== undefined && this.#current !== session,
    handleRegistered: (session: Session, message: RegisteredMessage): void => {
      if (session === this.#next) this.#takeOver(session, message);
      if (session === this.#current) this.#parts.handlers.handleRegistered(message);
    },
    handleMessage: (session: Session, message: ServerMessage): void => {
      if (message.type !== "move") this.#parts.handlers.handleMessage(session, message);
      else if (session === this.#current) this.#handleMove(message);
    },
    handleClosed: (session: Session, code: number, reason: string): void => {
      this.#handleClosed(session, code, reason);
    },
  };

  #takeOver(session: Session, message: RegisteredMessage): void {
    const { timers } = this.#parts.environment;
    const previous = this.#current;
    this.#current = session;
    this.#next = undefined;
    this.#reconnect.handleRegistered(timers.now(), message.reconnectWithinMs, previous !== undefined);
    if (!previous) return;
    previous.retire();
    const letGo = timers.after(RETIREMENT_MS, () => {
      this.#retired.delete(previous);
      previous.close(1000, "another connection took over");
    });
    this.#retired.set(previous, letGo);
  }

  /** The node wants to be rid of this application: the next connection first, then this one goes. */
  #handleMove(message: MoveMessage): void {
    if (this.#next || this.#askingToken || this.#cancelWait) return;
    this.#wait(this.#reconnect.moveDelay(message.withinMs), undefined, undefined, message.url);
  }

  #handleClosed(session: Session, code: number, reason: string): void {
    const patience = this.#retired.get(session);
    if (patience) {
      patience();
      this.#retired.delete(session);
      return;
    }
    const wasCurrent = session === this.#current;
    if (wasCurrent) this.#current = undefined;
    else if (session === this.#next) this.#next = undefined;
    else return;
    this.#followClose(code, closeText(code, reason), wasCurrent);
  }

  #followClose(code: number, reason: string, wasCurrent: boolean): void {
    const { environment, tokens } = this.#parts;
    const plan = this.#reconnect.handleClosed(code, environment.timers.now(), wasCurrent);
    if (plan.kind === "stop") return this.#stop(code, reason, isReported(code));
    if (plan.kind === "token") {
      const hopeless = tokens.handleRefused();
      if (hopeless) return this.#stop(code, `${reason} (${hopeless})`, true);
    } else if (isReported(code)) {
      environment.logger.warn(`clientmcp: the connection was closed (${code}): ${reason}`);
    }
    if (wasCurrent && plan.kind === "retry" && (this.#next || this.#askingToken)) {
      this.#parts.handlers.handleStatus({ state: "connecting", code, reason });
      return;
    }
    this.#dropNext();
    this.#wait(plan.delayMs, code, reason);
  }

  #wait(delayMs: number, code?: number, reason?: string, url = this.#parts.url): void {
    this.#cancelWait?.();
    this.#cancelWait = this.#parts.environment.timers.after(delayMs, () => void this.#open(url));
    if (this.#current) return;
    this.#parts.handlers.handleStatus({
      state: "offline",
      ...(code !== undefined && { code }),
      ...(reason !== undefined && { reason }),
      retryInMs: Math.round(delayMs),
    });
  }

  #handleOnline(): void {
    this.#current?.probe();
    if (this.#current || !this.#cancelWait) return;
    this.#cancelWait();
    void this.#open(this.#parts.url);
  }

  #dropNext(): void {
    this.#attempt++;
    this.#askingToken = false;
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    this.#next?.close(1000, "not needed any more");
    this.#next = undefined;
  }

  #stop(code: number | undefined, reason: string, reported = false): void {
    this.#started = false;
    this.#dropNext();
    this.#cancelWatch();
    for (const [session, cancel] of this.#retired) {
      cancel();
      session.close(1000, "the application stopped");
    }
    this.#retired.clear();
    this.#current?.close(1000, "the application stopped");
    this.#current = undefined;
    if (reported) this.#parts.environment.logger.warn(`clientmcp: stopped: ${reason}`);
    this.#parts.handlers.handleStatus({ state: "stopped", ...(code !== undefined && { code }), reason });
  }
}
