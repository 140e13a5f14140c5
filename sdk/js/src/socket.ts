/**
 * One WebSocket: frames in and out, pings, and noticing that the other side is gone. A browser
 * neither shows protocol pings nor notices a dead peer, so silence is judged here.
 */
import type { Environment, WebSocketLike } from "./environment.js";
import { DEFAULT_LIMITS, PING, PONG, parseMessage, type ServerMessage } from "./messages.js";
import type { Cancel } from "./timers.js";

const SUBPROTOCOL = "clientmcp.v1";
const TOKEN_SUBPROTOCOL = "clientmcp.token.";
/** From the first packet to the end of the upgrade. */
const OPEN_TIMEOUT_MS = 15_000;
/** How long an answer to a ping may take after the network or the page came back. */
const PROBE_TIMEOUT_MS = 5_000;

export interface SocketHandlers {
  opened(): void;
  received(message: ServerMessage): void;
  /** Exactly once, unless {@link Socket.close} was called before. */
  closed(code: number, reason: string): void;
}

export class Socket {
  readonly #environment: Environment;
  readonly #handlers: SocketHandlers;
  readonly #socket: WebSocketLike;
  readonly #url: string;
  #state: "opening" | "open" | "closed" = "opening";
  #lastReceived = 0;
  /** the deadline of opening, later that of an answer to a probe */
  #cancelDeadline: Cancel = () => {};
  #cancelPing: Cancel = () => {};
  #cancelSilence: Cancel = () => {};

  /** @throws SyntaxError, TypeError for a URL that is none of a WebSocket */
  constructor(environment: Environment, url: string, token: string, handlers: SocketHandlers) {
    this.#environment = environment;
    this.#handlers = handlers;
    this.#url = url;
    this.#socket = new environment.WebSocket(url, [SUBPROTOCOL, TOKEN_SUBPROTOCOL + token]);
    this.#socket.onopen = () => this.#handleOpen();
    this.#socket.onmessage = (event: { data: unknown }) => this.#handleFrame(event.data);
    // Node 22 follows a failed upgrade with no close event.
    this.#socket.onerror = () => {
      if (this.#state === "opening") this.#handleClose(1006, "");
    };
    this.#socket.onclose = (event: { code: number; reason: string }) =>
      this.#handleClose(event.code, event.reason);
    this.#cancelDeadline = environment.timers.after(OPEN_TIMEOUT_MS, () =>
      this.#abandon(1006, `no answer from ${url}`),
    );
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Sends a frame; false if there is nothing to send it on. */
  send(text: string): boolean {
    if (this.#state !== "open") return false;
    this.#socket.send(text);
    return true;
  }

  /** Closes it for good; no handler is called any more. */
  close(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#finish();
    this.#socket.close(code, reason);
  }

  /** Sets how often to ping, and how long a silence means that nobody is there. */
  keepAlive(pingIntervalMs: number, silenceTimeoutMs: number): void {
    this.#cancelPing();
    this.#cancelSilence();
    const { timers } = this.#environment;
    const ping = (): void => {
      this.send(PING);
      this.#cancelPing = timers.after(pingIntervalMs, ping);
    };
    const listen = (): void => {
      const left = this.#lastReceived + silenceTimeoutMs - timers.now();
      if (left <= 0) return this.#abandon(4408, `nothing was received for ${silenceTimeoutMs / 1000} s`);
      this.#cancelSilence = timers.after(left, listen);
    };
    this.#cancelPing = timers.after(pingIntervalMs, ping);
    listen();
  }

  /** Asks for a sign of life, and gives the socket up if none comes soon. */
  probe(): void {
    const asked = this.#environment.timers.now();
    if (!this.send(PING)) return;
    this.#cancelDeadline();
    this.#cancelDeadline = this.#environment.timers.after(PROBE_TIMEOUT_MS, () => {
      if (this.#lastReceived < asked) this.#abandon(1006, "the connection was dead");
    });
  }

  #handleOpen(): void {
    if (this.#state !== "opening") return;
    if (this.#socket.protocol !== SUBPROTOCOL) {
      return this.#abandon(1002, `${this.#url} does not speak ${SUBPROTOCOL}`);
    }
    this.#cancelDeadline();
    this.#state = "open";
    this.#lastReceived = this.#environment.timers.now();
    this.keepAlive(DEFAULT_LIMITS.pingIntervalMs, DEFAULT_LIMITS.silenceTimeoutMs);
    this.#handlers.opened();
  }

  #handleFrame(data: unknown): void {
    if (this.#state !== "open") return;
    this.#lastReceived = this.#environment.timers.now();
    const message = typeof data === "string" ? parseMessage(data) : undefined;
    if (message?.type === "ping") this.send(PONG);
    else if (message && message.type !== "pong") this.#hand(message);
  }

  /** A message with members of a wrong type must not end the process. */
  #hand(message: ServerMessage): void {
    try {
      this.#handlers.received(message);
    } catch (error) {
      this.#environment.logger.warn(`clientmcp: a ${message.type} message could not be handled`, error);
    }
  }

  #handleClose(code: number, reason: string): void {
    if (this.#state === "closed") return;
    const neverOpened = this.#state === "opening";
    this.#finish();
    this.#handlers.closed(code, reason || (neverOpened ? `could not connect to ${this.#url}` : ""));
  }

  /** Gives the socket up without waiting for a peer that may be gone. */
  #abandon(code: number, reason: string): void {
    if (this.#state === "closed") return;
    this.#finish();
    this.#socket.close(4408, "given up by the application's side");
    this.#handlers.closed(code, reason);
  }

  #finish(): void {
    this.#state = "closed";
    this.#cancelDeadline();
    this.#cancelPing();
    this.#cancelSilence();
  }
}
