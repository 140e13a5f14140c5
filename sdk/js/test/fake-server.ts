/** A bridge that does nothing by itself: each test says what it sends, and what must come. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { Queue } from "./queue.js";

type Message = Record<string, unknown>;

/** One connection of an application, seen from the bridge. */
export class Peer {
  /** the subprotocols that were offered */
  readonly protocols: string[];
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;
  readonly #received = new Queue<string>("a message of the application");

  constructor(socket: WebSocket, protocols: string[]) {
    this.#socket = socket;
    this.protocols = protocols;
    socket.on("message", (data, binary) => this.#received.push(binary ? "(binary)" : String(data)));
    socket.on("error", () => {});
    this.closed = new Promise((resolve) =>
      socket.on("close", (code, reason) => resolve({ code, reason: String(reason) })),
    );
  }

  /** The token that was offered. */
  get token(): string | undefined {
    return this.protocols.find((name) => name.startsWith("clientmcp.token."))?.slice(16);
  }

  /** The next message, waiting for it. */
  async next(): Promise<Message> {
    return JSON.parse(await this.#received.next()) as Message;
  }

  /** The next message is exactly this one. */
  async expect(message: Message): Promise<void> {
    assert.deepEqual(await this.next(), message);
  }

  /** Nothing was sent that has not been read: the answer to a ping comes next. */
  async expectNothing(): Promise<void> {
    this.send({ type: "ping" });
    assert.equal(await this.#received.next(), '{"type":"pong"}');
  }

  send(message: Message | string): void {
    this.#socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  sendBinary(bytes: Uint8Array): void {
    this.#socket.send(bytes, { binary: true });
  }

  /** Closes with a code; without one, the close frame has none (1005). */
  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }

  /** Cuts the connection without a close frame (1006). */
  cut(): void {
    this.#socket.terminate();
  }

  get unread(): string[] {
    return this.#received.rest();
  }
}

export class FakeServer {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: WebSocketServer;
  readonly #arrived = new Queue<Peer>("a connection");
  readonly peers: Peer[] = [];

  private constructor(server: Server, subprotocol: string) {
    this.#server = server;
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/v1/connect`;
    this.#sockets = new WebSocketServer({ server, handleProtocols: () => subprotocol });
    this.#sockets.on("connection", (socket, request) => {
      const offered = String(request.headers["sec-websocket-protocol"]).split(",");
      const peer = new Peer(socket, offered.map((name) => name.trim()));
      this.peers.push(peer);
      this.#arrived.push(peer);
    });
  }

  /** @param subprotocol what the bridge answers to the subprotocols that are offered */
  static async start(subprotocol = "clientmcp.v1"): Promise<FakeServer> {
    const server = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new FakeServer(server, subprotocol);
  }

  /** The next connection, waiting for it. */
  accept(): Promise<Peer> {
    return this.#arrived.next();
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#sockets.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
