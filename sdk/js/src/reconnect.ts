/**
 * What follows from a close code (SPEC.md, close codes), and when to connect again. Nothing here
 * has a clock or a random source of its own.
 */

/** First retry within this window, unless `registered` said otherwise. */
const DEFAULT_WITHIN_MS = 200;
const BACKOFF_BASE_MS = 500;
const BACKOFF_CAP_MS = 30_000;
/** A connection that lasted this long has proved itself; shorter ones do not reset the backoff. */
const STABLE_MS = 2_000;

type Action =
  /** at once, spread over the window in which all the lost connections come back */
  | "spread"
  /** not at once: the cause is likely to be there still */
  | "backoff"
  /** only with another token */
  | "token"
  | "stop";

interface CloseRule {
  action: Action;
  /** used where the close frame carried no reason */
  text: string;
  /** says that something is wrong with the application or its configuration */
  reported?: true;
}

const RULES: Readonly<Record<number, CloseRule>> = {
  1000: { action: "spread", text: "the bridge closed the connection" },
  1001: { action: "spread", text: "the bridge, or a proxy before it, went away" },
  1002: { action: "backoff", text: "protocol error", reported: true },
  1003: { action: "backoff", text: "a frame of a kind that the bridge does not take", reported: true },
  1006: { action: "spread", text: "the connection was lost" },
  1007: { action: "backoff", text: "a frame was not UTF-8", reported: true },
  1009: { action: "backoff", text: "a message was larger than the bridge takes" },
  1012: { action: "spread", text: "the bridge restarts" },
  1013: { action: "backoff", text: "the bridge is overloaded" },
  4400: { action: "stop", text: "the bridge did not understand a message", reported: true },
  4401: { action: "token", text: "the token is missing, wrong or expired" },
  4403: { action: "stop", text: "the token's scope, or this page's origin, is not allowed", reported: true },
  4408: { action: "backoff", text: "silent for too long" },
  4409: { action: "stop", text: "another instance of this application took over" },
};

const OTHER: CloseRule = { action: "backoff", text: "the connection was closed" };

/** No close code at all (1005) says as little as no close frame (1006). */
function ruleOf(code: number): CloseRule {
  return RULES[code === 1005 ? 1006 : code] ?? OTHER;
}

/** The reason of a close, or what its code means. */
export function closeText(code: number, reason: string): string {
  return reason || ruleOf(code).text;
}

/** Whether a developer has to hear of this code, though the SDK may go on. */
export function isReported(code: number): boolean {
  return ruleOf(code).reported === true;
}

/** What to do after a close. */
export type Plan = { kind: "stop" } | { kind: "token" | "retry"; delayMs: number };

/** Delays between connections: a short spread first, then exponential with full jitter. */
export class Reconnect {
  readonly #random: () => number;
  #withinMs = DEFAULT_WITHIN_MS;
  /** When the connection in use was made, or the first of those that took over from each other. */
  #registeredAt: number | undefined;
  /** Connections tried since the last one that was stable. */
  #tries = 0;

  /** @param random a number in [0, 1) */
  constructor(random: () => number) {
    this.#random = random;
  }

  /** @param tookOver whether it replaced a connection that stood: then it has stood as long as that */
  handleRegistered(now: number, withinMs: number | undefined, tookOver: boolean): void {
    if (!tookOver) this.#registeredAt = now;
    if (withinMs !== undefined && withinMs >= 0) this.#withinMs = withinMs;
  }

  /** @param registered whether the socket that closed was the one in use */
  handleClosed(code: number, now: number, registered: boolean): Plan {
    const { action } = ruleOf(code);
    if (action === "stop") return { kind: "stop" };
    if (registered && this.#registeredAt !== undefined && now - this.#registeredAt >= STABLE_MS) {
      this.#tries = 0;
    }
    if (action === "token") return { kind: "token", delayMs: this.nextDelay("spread") };
    return { kind: "retry", delayMs: this.nextDelay(action) };
  }

  /** The next delay in milliseconds; each call is a try. */
  nextDelay(action: "spread" | "backoff"): number {
    const tries = this.#tries++;
    if (tries === 0 && action === "spread") return this.#random() * this.#withinMs;
    const doublings = Math.min(Math.max(tries - 1, 0), 16);
    return this.#random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** doublings);
  }

  /** A point of time within the window that a `move` names, early enough to be done by its end. */
  moveDelay(withinMs: number | undefined): number {
    return (this.#random() * Math.max(withinMs ?? 0, 0)) / 2;
  }

  /** Forgets earlier tries, for a start that was asked for. */
  reset(): void {
    this.#tries = 0;
  }
}
