import { watchPage, type PageHandlers } from "./page.js";
import { timersFrom, type Cancel, type Timers } from "./timers.js";
import { bestArm } from "./worker-timers.js";

/** As much of a WebSocket as the SDK uses: a browser's, Node's, or that of the package `ws`. */
export interface WebSocketLike {
  readonly protocol: string;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: never) => void) | null;
  onerror: ((event: never) => void) | null;
  onclose: ((event: never) => void) | null;
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

/** Where the SDK tells a developer what is wrong; `console` by default. */
export interface Logger {
  warn(message: string, ...details: unknown[]): void;
}

/** Everything outside of the SDK that it depends on. */
export interface Environment {
  WebSocket: WebSocketConstructor;
  timers: Timers;
  /** a number in [0, 1) */
  random: () => number;
  watchPage: (handlers: PageHandlers) => Cancel;
  logger: Logger;
}

/** The environment of this page or process. */
export function environmentFor(
  given: WebSocketConstructor | undefined,
  logger: Logger | null | undefined,
): Environment {
  const constructor = given ?? (globalThis.WebSocket as WebSocketConstructor | undefined);
  if (typeof constructor !== "function") {
    throw new TypeError(
      "there is no WebSocket here: use Node.js 22 or newer, or pass one, as in " +
        'import { WebSocket } from "ws"; connect({ WebSocket, … })',
    );
  }
  return {
    WebSocket: constructor,
    timers: timersFrom(bestArm()),
    random: Math.random,
    watchPage,
    logger: logger === null ? { warn: () => {} } : (logger ?? console),
  };
}
