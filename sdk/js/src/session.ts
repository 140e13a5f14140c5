/** The conversation on one socket: register, be registered, register again, renew the token. */
import type { Environment } from "./environment.js";
import { DEFAULT_LIMITS, encodeMessage } from "./messages.js";
import type { Limits, RegisteredMessage, ServerMessage } from "./messages.js";
import type { Registrar, Registration } from "./register.js";
import { Socket } from "./socket.js";
import { Renewal, type TokenSource } from "./token.js";
import type { Cancel } from "./timers.js";

/** The bridge may delay a register while very many applications come back at once. */
const REGISTER_TIMEOUT_MS = 60_000;

export interface SessionHandlers {
  /** Whether this session is to take over from one that still stands. */
  isMoving(session: Session): boolean;
  /** On the first `registered` and on each later one. */
  handleRegistered(session: Session, message: RegisteredMessage): void;
  handleMessage(session: Session, message: ServerMessage): void;
  /** Exactly once, unless {@link Session.close} was called before. */
  handleClosed(session: Session, code: number, reason: string): void;
}

/** What all sessions of an application share. */
export interface SessionParts {
  environment: Environment;
  registrar: Registrar;
  tokens: TokenSource;
  handlers: SessionHandlers;
}

export class Session {
  limits: Limits = DEFAULT_LIMITS;
  /** counts up within the instance */
  readonly connection: number;
  readonly #parts: SessionParts;
  readonly #socket: Socket;
  readonly #renewal: Renewal;
  #asked: Registration | undefined;
  #askAgain = false;
  #cancelDeadline: Cancel = () => {};

  constructor(parts: SessionParts, url: string, token: string, connection: number) {
    const { environment, tokens } = parts;
    this.#parts = parts;
    this.connection = connection;
    this.#renewal = new Renewal(
      tokens,
      environment.timers,
      token,
      (renewed) => this.send(encodeMessage({ type: "auth", token: renewed })),
      (problem) => environment.logger.warn(`clientmcp: ${problem}`),
    );
    this.#socket = new Socket(environment, url, token, {
      opened: () => this.#handleOpened(),
      received: (message) => this.#handleMessage(message),
      closed: (code, reason) => this.#handleClosed(code, reason),
    });
  }

  get isOpen(): boolean {
    return this.#socket.isOpen;
  }

  send(text: string): boolean {
    return this.#socket.send(text);
  }

  /** Registers again, since the content has changed; after the answer to an earlier register. */
  register(): void {
    if (!this.#socket.isOpen) return;
    if (this.#asked) this.#askAgain = true;
    else this.#register(false);
  }

  /** Asks for a sign of life. */
  probe(): void {
    this.#socket.probe();
  }

  /** Another session has taken over: this one only finishes what it carries. */
  retire(): void {
    this.#renewal.stop();
    this.#cancelDeadline();
  }

  close(code: number, reason: string): void {
    this.retire();
    this.#socket.close(code, reason);
  }

  #handleOpened(): void {
    this.#cancelDeadline = this.#parts.environment.timers.after(REGISTER_TIMEOUT_MS, () =>
      this.#giveUp(4408, `not registered within ${REGISTER_TIMEOUT_MS / 1000} s`),
    );
    this.#register(false);
  }

  #register(full: boolean): void {
    this.#askAgain = false;
    const { registrar, handlers } = this.#parts;
    this.#asked = registrar.registration(this.connection, handlers.isMoving(this), full);
    this.send(this.#asked.text);
  }

  #handleMessage(message: ServerMessage): void {
    switch (message.type) {
      case "registered":
        return this.#handleRegistered(message);
      case "need":
        return this.#handleNeed();
      case "authorized":
        return this.#renewal.handleAccepted(message.expiresInMs);
      default:
        return this.#parts.handlers.handleMessage(this, message);
    }
  }

  #handleRegistered(message: RegisteredMessage): void {
    if (!this.#asked) return;
    const { registrar, handlers } = this.#parts;
    registrar.handleRegistered(this.#asked, message);
    this.#asked = undefined;
    this.#cancelDeadline();
    this.limits = { ...DEFAULT_LIMITS, ...message.limits };
    this.#socket.keepAlive(this.limits.pingIntervalMs, this.limits.silenceTimeoutMs);
    this.#renewal.handleAccepted(message.expiresInMs);
    handlers.handleRegistered(this, message);
    if (this.#askAgain) this.#register(false);
  }

  #handleNeed(): void {
    if (!this.#asked) return;
    if (this.#asked.full) this.#giveUp(1002, "the bridge needs what it was given");
    else this.#register(true);
  }

  #giveUp(code: number, reason: string): void {
    this.close(4408, "given up by the application's side");
    this.#parts.handlers.handleClosed(this, code, reason);
  }

  #handleClosed(code: number, reason: string): void {
    this.retire();
    this.#parts.handlers.handleClosed(this, code, reason);
  }
}
