/** An application and the bridge that it talks to, with a clock in the test's hand. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { WebSocket as WsWebSocket } from "ws";
import { App } from "../src/client.js";
import type { Environment, WebSocketConstructor } from "../src/environment.js";
import type { PageHandlers } from "../src/page.js";
import type { ConnectOptions, Status } from "../src/options.js";
import { FakeServer, type Peer } from "./fake-server.js";
import { FakeTimers } from "./fake-timers.js";
import { Queue } from "./queue.js";

/** The platform's own WebSocket where there is one. */
export const TestWebSocket = (globalThis.WebSocket ?? WsWebSocket) as unknown as WebSocketConstructor;

export const SERVER_INFO = { name: "test", version: "1.0.0" };
export const HASHES = { tools: "T1", prompts: "P0", resources: "R0", rest: "X1" };

export function registered(members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: "registered",
    clientId: "app-1",
    hashes: HASHES,
    rejected: [],
    limits: { maxMessageBytes: 4194304, maxCallsInFlight: 256, pingIntervalMs: 20000, silenceTimeoutMs: 45000 },
    reconnectWithinMs: 200,
    ...members,
  };
}

export class Harness {
  readonly app: App;
  readonly server: FakeServer;
  readonly timers: FakeTimers;
  readonly warnings: string[] = [];
  /** what the random source yields */
  random = 0.5;
  page: PageHandlers | undefined;
  readonly #statuses = new Queue<Status>("a status");

  private constructor(server: FakeServer, timers: FakeTimers, options: Partial<ConnectOptions>) {
    this.server = server;
    this.timers = timers;
    const environment: Environment = {
      WebSocket: TestWebSocket,
      timers,
      random: () => this.random,
      watchPage: (handlers) => {
        this.page = handlers;
        return () => (this.page = undefined);
      },
      logger: { warn: (message, ...details) => void this.warnings.push([message, ...details].join(" ")) },
    };
    const given = { url: server.url, token: "token-1", serverInfo: SERVER_INFO, ...options };
    this.app = new App(given, environment);
    this.app.on("status", (status) => this.#statuses.push(status));
  }

  /** Starts a bridge and an application; when the test ends, nothing may be left unread. */
  static async start(t: TestContext, options: Partial<ConnectOptions> = {}, server?: FakeServer): Promise<Harness> {
    const harness = new Harness(server ?? (await FakeServer.start()), new FakeTimers(), options);
    t.after(async () => {
      harness.app.close();
      await harness.server.stop();
      assert.deepEqual(harness.server.peers.flatMap((peer) => peer.unread), [], "unread messages");
      assert.equal(harness.timers.pending, 0, "timers left after close");
    });
    return harness;
  }

  /** Starts, and registers the first connection. */
  static async online(
    t: TestContext,
    options: Partial<ConnectOptions> = {},
    answer: Record<string, unknown> = {},
  ): Promise<{ h: Harness; peer: Peer }> {
    const h = await Harness.start(t, options);
    const peer = await h.register(answer);
    return { h, peer };
  }

  /** Accepts the next connection and registers it, whatever it says. */
  async register(answer: Record<string, unknown> = {}): Promise<Peer> {
    const peer = await this.server.accept();
    assert.equal((await peer.next())["type"], "register");
    peer.send(registered(answer));
    await this.status("online");
    return peer;
  }

  /** The next status that is not merely `connecting`. */
  async status(state: Status["state"]): Promise<Status> {
    let status = await this.#statuses.next();
    while (status.state === "connecting" && state !== "connecting") status = await this.#statuses.next();
    assert.equal(status.state, state, JSON.stringify(status));
    return status;
  }

  /** Offline, then the retry's time comes. */
  async retry(): Promise<Status> {
    const status = await this.status("offline");
    this.timers.advance(status.retryInMs ?? 0);
    return status;
  }

  /** Waits for what no event tells, as that a lost connection was noticed. */
  async until(condition: () => boolean): Promise<void> {
    for (let waited = 0; !condition(); waited++) {
      assert.ok(waited < 1000, "what was waited for did not happen");
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
