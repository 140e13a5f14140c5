/** Calls across connections: attached to, answered from memory, and moves from node to node. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { CallContext } from "../src/context.js";
import type { Tools } from "../src/offer/tools.js";
import { FakeServer, type Peer } from "./fake-server.js";
import { Harness, registered } from "./harness.js";

/** A tool whose calls end when the test says so. */
function slowTool() {
  const started: string[] = [];
  const ends = new Map<string, (text: string) => void>();
  const tools: Tools = {
    slow: {
      handler: (_, context) => {
        started.push(context.callId);
        context.progress(started.length);
        return new Promise((resolve) => ends.set(context.callId, resolve));
      },
    },
  };
  return { tools, started, end: (id: string) => ends.get(id)?.(`end of ${id}`) };
}

function call(id: string, attempt = 0): Record<string, unknown> {
  return { type: "call", id, rootId: id, attempt, method: "tools/call", params: { name: "slow" }, deadlineMs: 60_000 };
}

function result(id: string): Record<string, unknown> {
  return { type: "result", id, result: { content: [{ type: "text", text: `end of ${id}` }] } };
}

async function startSlow(t: TestContext) {
  const slow = slowTool();
  const { h, peer } = await Harness.online(t, { tools: slow.tools });
  return { h, peer, slow };
}

/** Lets handlers and their answers run. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The connection is lost, and the next one is registered. */
async function reconnect(h: Harness, peer: Peer): Promise<Peer> {
  peer.cut();
  await h.retry();
  return h.register();
}

test("a call that runs through a reconnect is attached to, and answered once", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send(call("a"));
  await peer.expectNothing();
  const second = await reconnect(h, peer);
  second.send(call("a", 1));
  await second.expectNothing();
  slow.end("a");
  await second.expect(result("a"));
  assert.deepEqual(slow.started, ["a"]);
  await second.expectNothing();
});

test("a call that ended while nobody was connected is answered from memory", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send(call("a"));
  await peer.expectNothing();
  peer.cut();
  const { retryInMs } = await h.status("offline");
  slow.end("a");
  await settle();
  h.timers.advance(retryInMs ?? 0);
  const second = await h.register();
  await second.expectNothing();
  second.send(call("a", 1));
  await second.expect(result("a"));
  second.send(call("a", 2));
  await second.expect(result("a"));
  assert.deepEqual(slow.started, ["a"]);
});

test("a call that ends before its redelivery is answered upon it, once", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send(call("a"));
  await peer.expectNothing();
  const second = await reconnect(h, peer);
  slow.end("a");
  await settle();
  await second.expectNothing();
  second.send(call("a", 1));
  await second.expect(result("a"));
  await second.expectNothing();
});

test("progress goes on the connection of the latest delivery alone", async (t) => {
  let context: CallContext | undefined;
  const tools: Tools = { slow: { handler: (_, given) => ((context = given), new Promise(() => {})) } };
  const { h, peer } = await Harness.online(t, { tools });
  peer.send({ ...call("a"), context: { progress: true } });
  await peer.expectNothing();
  const second = await reconnect(h, peer);
  context?.progress(1);
  await second.expectNothing();
  second.send(call("a", 1));
  await second.expectNothing();
  context?.progress(2);
  await second.expect({ type: "progress", id: "a", progress: 2 });
});

test("a redelivery of what was forgotten says so, and runs nothing", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send(call("a"));
  await peer.expectNothing();
  slow.end("a");
  await peer.expect(result("a"));
  peer.send({ type: "settled", ids: ["a"] });
  await peer.expectNothing();
  const second = await reconnect(h, peer);
  second.send(call("a", 1));
  await second.expect({
    type: "error",
    id: "a",
    error: {
      code: -31002,
      message: "the application no longer knows how this call ended",
      data: { outcome: "unknown" },
    },
  });
  assert.deepEqual(slow.started, ["a"]);
});

test("a redelivery that was never delivered is run", async (t) => {
  const { peer, slow } = await startSlow(t);
  peer.send(call("a", 3));
  await peer.expectNothing();
  slow.end("a");
  await peer.expect(result("a"));
});

test("a redelivery of a cancelled call is answered", async (t) => {
  const { peer, slow } = await startSlow(t);
  peer.send(call("a"));
  await peer.expectNothing();
  peer.send({ type: "cancel", id: "a", reason: "disconnect" });
  await peer.expectNothing();
  peer.send(call("a", 1));
  await peer.expectNothing();
  slow.end("a");
  await peer.expect(result("a"));
});

test("a socket from which a call went on says nothing about it any more", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send(call("a"));
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  second.send(registered());
  second.send(call("a", 1));
  await second.expectNothing();
  peer.send({ type: "cancel", id: "a", reason: "shutdown" });
  peer.send(call("a", 0));
  await peer.expectNothing();
  slow.end("a");
  await second.expect(result("a"));
  await peer.expectNothing();
});

test("a later socket may cancel what was not yet delivered on it", async (t) => {
  let signal: AbortSignal | undefined;
  const tools: Tools = { slow: { handler: (_, context) => ((signal = context.signal), new Promise(() => {})) } };
  const { h, peer } = await Harness.online(t, { tools });
  peer.send(call("a"));
  await peer.expectNothing();
  const second = await reconnect(h, peer);
  second.send({ type: "cancel", id: "a", reason: "agent" });
  await second.expectNothing();
  assert.equal(signal?.aborted, true);
});

test("a redelivery restarts the deadline", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send({ ...call("a"), deadlineMs: 10_000 });
  await peer.expectNothing();
  h.timers.advance(10_000);
  peer.send({ ...call("a", 1), deadlineMs: 30_000 });
  await peer.expectNothing();
  h.timers.advance(6_000);
  slow.end("a");
  await peer.expect(result("a"));
});

test("a move opens the next connection first, and leaves no gap", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  peer.send(call("a"));
  peer.send(call("b"));
  await peer.expectNothing();
  peer.send({ type: "move", reason: "drain", withinMs: 4000 });
  await peer.expectNothing();
  h.timers.advance(999);
  await peer.expectNothing();
  h.timers.advance(1);

  const second = await h.server.accept();
  const { connection, moving } = await second.next();
  assert.deepEqual([connection, moving], [2, true]);
  assert.equal(h.app.status.state, "online");
  peer.send(call("c"));
  await peer.expectNothing();
  second.send(registered());
  await second.expectNothing();
  assert.deepEqual(slow.started, ["a", "b", "c"]);

  slow.end("c");
  await peer.expect(result("c"));
  second.send(call("a", 1));
  await second.expectNothing();
  slow.end("a");
  await second.expect(result("a"));

  peer.close(1000);
  await peer.closed;
  await settle();
  slow.end("b");
  await settle();
  await second.expectNothing();
  second.send(call("b", 1));
  await second.expect(result("b"));
  await second.expectNothing();
  assert.deepEqual(h.app.status, { state: "online", clientId: "app-1" });
});

test("a connection that took over by a move stands as long as the one before it", async (t) => {
  const { h, peer } = await startSlow(t);
  h.timers.advance(10_000);
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  second.send(registered());
  await second.expectNothing();
  second.cut();
  assert.equal((await h.retry()).retryInMs, 100);
  const third = await h.register();
  third.cut();
  assert.equal((await h.retry()).retryInMs, 250);
});

test("a connection that was moved away from is let go after a while", async (t) => {
  const { h, peer } = await startSlow(t);
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  second.send(registered());
  await second.expectNothing();
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  for (let tens = 0; tens < 3; tens++) {
    h.timers.advance(10_000);
    if (tens === 1) for (const each of [peer, second]) await each.expect({ type: "ping" });
    await second.expectNothing();
  }
  assert.deepEqual(await peer.closed, { code: 1000, reason: "another connection took over" });
  assert.equal(h.server.peers.length, 2);
});

test("a move goes to the address that it names, and back to the usual one if that fails", async (t) => {
  const { h, peer } = await startSlow(t);
  const calm = h.timers.pending;
  const other = await FakeServer.start();
  t.after(() => other.stop());
  peer.send({ type: "move", withinMs: 0, url: other.url });
  await peer.expectNothing();
  h.timers.advance(0);
  const elsewhere = await other.accept();
  await elsewhere.next();
  elsewhere.close(1013);
  await h.until(() => h.timers.pending === calm + 1);
  h.timers.advance(500);
  const second = await h.server.accept();
  assert.equal((await second.next())["connection"], 3);
  assert.equal(h.app.status.state, "online");
});

test("a move whose next connection is refused is tried again; the current one serves", async (t) => {
  const { h, peer, slow } = await startSlow(t);
  const calm = h.timers.pending;
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  second.close(1013);
  await h.until(() => h.timers.pending === calm + 1);
  peer.send(call("a"));
  await peer.expectNothing();
  slow.end("a");
  await peer.expect(result("a"));
  h.timers.advance(500);
  const third = await h.server.accept();
  assert.equal((await third.next())["connection"], 3);
  third.send(registered());
  await third.expectNothing();
  assert.deepEqual(h.app.status, { state: "online", clientId: "app-1" });
});

test("a current connection that is lost during a move waits for the next", async (t) => {
  const { h, peer } = await startSlow(t);
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  peer.cut();
  const status = await h.status("connecting");
  assert.equal(status.code, 1006);
  second.send(registered());
  await h.status("online");
  assert.equal(h.server.peers.length, 2);
});

test("a current connection that is lost while a move waits for its time is replaced at once", async (t) => {
  const { h, peer } = await startSlow(t);
  peer.send({ type: "move", withinMs: 60_000 });
  await peer.expectNothing();
  peer.close(1012);
  assert.equal((await h.retry()).retryInMs, 100);
  await h.register();
});

test("another instance that takes over during a move stops everything", async (t) => {
  const { h, peer } = await startSlow(t);
  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  peer.close(4409);
  await h.status("stopped");
  assert.equal((await second.closed).code, 1000);
});
