/**
 * The application's token: where it comes from, and when another is needed (SPEC.md, tokens).
 * Lifetimes run on the monotonic clock from the moment the bridge named them, so a wrong wall
 * clock in the page changes nothing.
 */
import { messageOf } from "./errors.js";
import type { Cancel, Timers } from "./timers.js";

/** Why a token is asked for. */
export type TokenReason =
  /** the first connection */
  | "connect"
  /** the present one ends soon, or has ended */
  | "expiring"
  /** the bridge refused the present one (close code 4401) */
  | "refused";

export interface TokenRequest {
  reason: TokenReason;
}

/** Yields a token. An empty one, or none, says that there is none to be had: the SDK stops. */
export type TokenCallback = (
  request: TokenRequest,
) => string | null | undefined | Promise<string | null | undefined>;

/** No token will be had by asking again. */
export class NoToken extends Error {}

/** Share of a token's life after which another is asked for. */
const RENEW_AT = 0.8;
const MIN_RENEW_DELAY_MS = 1_000;
const CALLBACK_TIMEOUT_MS = 30_000;

export class TokenSource {
  readonly #given: string | TokenCallback;
  readonly #timers: Timers;
  #token: string | undefined;
  #renewAt = Infinity;
  #refused: string | undefined;
  /** Another token was had after a refusal; it has not been accepted yet. */
  #replaced = false;

  /** @throws TypeError for what callers without types may pass, as a setting that is not set */
  constructor(given: string | TokenCallback, timers: Timers) {
    if (typeof given !== "string" && typeof given !== "function") {
      const is = given === null ? "null" : typeof given;
      throw new TypeError(`clientmcp: \`token\` must be a string or a function that yields one; it is ${is}`);
    }
    this.#given = given;
    this.#timers = timers;
  }

  /** Whether another token could be had at all. */
  get renewable(): boolean {
    return typeof this.#given === "function";
  }

  /**
   * The token for the next connection; asks only where the present one will not do.
   * @throws NoToken when asking again is useless; anything else is a failure that may pass
   */
  async next(): Promise<string> {
    if (typeof this.#given === "string") return (this.#token = checked(this.#given));
    if (this.#token !== undefined && this.#refused !== this.#token) {
      if (this.#timers.now() < this.#renewAt) return this.#token;
      return this.ask("expiring");
    }
    if (this.#token === undefined) return this.ask("connect");
    const token = await this.ask("refused");
    if (token === this.#refused) throw new NoToken("the token callback gave the refused token again");
    this.#replaced = true;
    return token;
  }

  /** @throws NoToken when there is none; anything else is a failure that may pass */
  async ask(reason: TokenReason): Promise<string> {
    if (typeof this.#given === "string") return this.#given;
    const answer = await this.#withinTime(this.#given({ reason }));
    this.#token = checked(answer);
    return this.#token;
  }

  /** The bridge took the present token, and says how long it lives. */
  handleAccepted(expiresInMs: number | undefined): void {
    this.#refused = undefined;
    this.#replaced = false;
    this.#renewAt = this.#timers.now() + (expiresInMs ?? Infinity) * RENEW_AT;
  }

  /** The bridge refused the present token: undefined if another may help, else why not. */
  handleRefused(): string | undefined {
    if (!this.renewable) return "the token is a fixed string, so there is no other to try";
    if (this.#replaced) return "a new token from the callback was refused as well";
    this.#refused = this.#token;
    return undefined;
  }

  /** Forgets everything, for a start that was asked for. */
  reset(): void {
    this.#token = this.#refused = undefined;
    this.#replaced = false;
    this.#renewAt = Infinity;
  }

  #withinTime<T>(answer: T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.#timers.after(CALLBACK_TIMEOUT_MS, () =>
        reject(new Error(`no token within ${CALLBACK_TIMEOUT_MS / 1000} s`)),
      );
      Promise.resolve(answer).then(resolve, reject).finally(cancel);
    });
  }
}

/** A token travels in a header; a stray newline at its end is the usual mistake. */
function checked(token: unknown): string {
  const text = typeof token === "string" ? token.trim() : "";
  if (text === "") throw new NoToken("there is no token");
  if (!/^[\w.~+-]+$/.test(text)) {
    throw new NoToken("the token is no JWT: it has characters that cannot travel in a header");
  }
  return text;
}

/** Renews the token of one open connection in place, before it ends. */
export class Renewal {
  readonly #source: TokenSource;
  readonly #timers: Timers;
  readonly #send: (token: string) => void;
  readonly #report: (message: string) => void;
  #cancel: Cancel | undefined;
  #endsAt = Infinity;
  #inUse: string | undefined;

  /** @param send hands a new token to the bridge; `handleAccepted` follows if it was taken */
  constructor(
    source: TokenSource,
    timers: Timers,
    token: string,
    send: (token: string) => void,
    report: (message: string) => void,
  ) {
    this.#source = source;
    this.#timers = timers;
    this.#inUse = token;
    this.#send = send;
    this.#report = report;
  }

  handleAccepted(expiresInMs: number | undefined): void {
    this.stop();
    this.#source.handleAccepted(expiresInMs);
    if (expiresInMs === undefined || !this.#source.renewable) return;
    this.#endsAt = this.#timers.now() + expiresInMs;
    this.#renewAfter(expiresInMs * RENEW_AT);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#endsAt = Infinity;
  }

  #renewAfter(delayMs: number): void {
    this.#cancel = this.#timers.after(delayMs, () => void this.#renew());
  }

  async #renew(): Promise<void> {
    const endsAt = this.#endsAt;
    try {
      const token = await this.#source.ask("expiring");
      if (endsAt !== this.#endsAt) return;
      if (token !== this.#inUse) {
        this.#inUse = token;
        return this.#send(token);
      }
    } catch (error) {
      if (endsAt !== this.#endsAt) return;
      this.#report(`the token could not be renewed: ${messageOf(error)}`);
    }
    const left = endsAt - this.#timers.now();
    if (left > 0) this.#renewAfter(Math.max(left / 2, MIN_RENEW_DELAY_MS));
  }
}
