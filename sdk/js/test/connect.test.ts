/** `connect` as an application calls it: the built package, with real timers and sockets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WebSocket } from "ws";
import { connect } from "@clientmcp/sdk";
import * as single from "@clientmcp/sdk/clientmcp.js";
import { FakeServer } from "./fake-server.js";
import { registered, SERVER_INFO } from "./harness.js";

const hasWebSocket = typeof globalThis.WebSocket === "function";

for (const [what, entry] of [["the modules", connect], ["the single file", single.connect]] as const) {
  test(`${what}: connects, answers, comes back, leaves`, async () => {
    const server = await FakeServer.start();
    const app = entry({
      url: server.url,
      token: "token-1",
      serverInfo: SERVER_INFO,
      tools: { add: { handler: ({ a, b }) => `${a + b}` } },
      ...(!hasWebSocket && { WebSocket }),
    });
    const peer = await server.accept();
    await peer.next();
    peer.send(registered({ reconnectWithinMs: 1 }));
    const params = { name: "add", arguments: { a: 1, b: 2 } };
    peer.send({ type: "call", id: "c1", method: "tools/call", params });
    await peer.expect({ type: "result", id: "c1", result: { content: [{ type: "text", text: "3" }] } });
    peer.cut();
    const second = await server.accept();
    assert.equal((await second.next())["connection"], 2);
    second.send(registered());
    await second.expectNothing();
    app.close();
    assert.equal((await second.closed).code, 1000);
    assert.equal(app.status.state, "stopped");
    await server.stop();
  });
}

test("without any WebSocket, connect says what to do", { skip: hasWebSocket }, () => {
  const options = { url: "ws://127.0.0.1:9", token: "t", serverInfo: SERVER_INFO };
  assert.throws(() => connect(options), /use Node\.js 22 or newer, or pass one/);
});

test("a missing address or name is refused at once", () => {
  const good = { url: "ws://127.0.0.1:9", token: "t", serverInfo: SERVER_INFO, WebSocket };
  for (const [wrong, message] of [
    [{ url: undefined }, /`url` must be the address/],
    [{ url: "" }, /`url` must be the address/],
    [{ serverInfo: undefined }, /`serverInfo` must have a name and a version/],
    [{ serverInfo: { name: "a" } }, /`serverInfo` must have a name and a version/],
  ] as const) {
    assert.throws(() => connect({ ...good, ...wrong } as never), { name: "TypeError", message });
  }
});

test("a token that is neither a text nor a function is refused at once", () => {
  for (const [token, is] of [[undefined, "undefined"], [null, "null"], [{}, "object"]] as const) {
    const options = { url: "ws://127.0.0.1:9", serverInfo: SERVER_INFO, WebSocket, token: token as unknown as string };
    const expected = { name: "TypeError", message: new RegExp(`\`token\` must be a string or .*; it is ${is}$`) };
    assert.throws(() => connect(options), expected);
  }
});
