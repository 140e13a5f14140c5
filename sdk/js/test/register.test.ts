import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeServer } from "./fake-server.js";
import { Harness, HASHES, registered, SERVER_INFO } from "./harness.js";

const paint = { description: "Paints", inputSchema: { type: "object", required: ["color"] }, handler: () => "ok" };
const erase = { title: "Erase", handler: () => "ok" };
const PAINT = { name: "paint", description: "Paints", inputSchema: { type: "object", required: ["color"] } };
const ERASE = { name: "erase", title: "Erase", inputSchema: { type: "object" } };

test("the first register is full, and its token travels as a subprotocol", async (t) => {
  const h = await Harness.start(t, {
    instructions: "Paint with it.",
    ttlMs: 5000,
    tools: {
      paint: { ...paint, annotations: { readOnlyHint: false }, "x-vendor": 1, requires: { elicitation: {} } },
      erase: { ...erase, timeoutMs: 300_000 },
    },
  });
  const peer = await h.server.accept();
  assert.deepEqual(peer.protocols, ["clientmcp.v1", "clientmcp.token.token-1"]);
  const register = await peer.next();
  assert.match(String(register["instance"]), /^[A-Za-z0-9_-]{1,128}$/);
  assert.deepEqual(register, {
    type: "register",
    instance: register["instance"],
    connection: 1,
    features: ["resume"],
    serverInfo: SERVER_INFO,
    instructions: "Paint with it.",
    ttlMs: 5000,
    tools: [{ ...PAINT, annotations: { readOnlyHint: false }, "x-vendor": 1 }, ERASE],
    toolOptions: { paint: { requires: { elicitation: {} } }, erase: { timeoutMs: 300_000 } },
  });
  assert.equal(h.app.clientId, undefined);
  peer.send(registered());
  assert.deepEqual(await h.status("online"), { state: "online", clientId: "app-1" });
  assert.equal(h.app.clientId, "app-1");
  await peer.expectNothing();
});

test("a reconnect names what is unchanged by its hash", async (t) => {
  const { h, peer } = await Harness.online(t, { tools: { paint } });
  peer.close(1012);
  await h.retry();
  const second = await h.server.accept();
  const register = await second.next();
  assert.deepEqual(register, {
    type: "register",
    instance: register["instance"],
    connection: 2,
    features: ["resume"],
    tools: { hash: "T1" },
    rest: { hash: "X1" },
  });
});

test("need makes it register again in full", async (t) => {
  const { h, peer } = await Harness.online(t, { tools: { paint } });
  peer.close(1012);
  await h.retry();
  const second = await h.server.accept();
  const { instance } = await second.next();
  second.send({ type: "need", kinds: ["tools"] });
  const full = {
    type: "register",
    instance,
    connection: 2,
    features: ["resume"],
    serverInfo: SERVER_INFO,
    tools: [PAINT],
  };
  await second.expect(full);
  second.send(registered());
  await h.status("online");

  second.send({ type: "need", kinds: ["tools"] });
  await second.expectNothing();
});

test("a need that answers a full register is a protocol error", async (t) => {
  const h = await Harness.start(t);
  const peer = await h.server.accept();
  await peer.next();
  peer.send({ type: "need", kinds: ["tools"] });
  const status = await h.status("offline");
  assert.equal(status.code, 1002);
  assert.equal((await peer.closed).code, 4408);
  assert.equal(h.warnings.length, 1);
});

test("setTools while online sends only the kinds that changed", async (t) => {
  const { h, peer } = await Harness.online(t, { tools: { paint } });
  h.app.setTools({ paint, erase });
  const register = await peer.next();
  assert.deepEqual(register, {
    type: "register",
    instance: register["instance"],
    connection: 1,
    features: ["resume"],
    tools: [PAINT, ERASE],
    rest: { hash: "X1" },
  });
  peer.send(registered({ hashes: { ...HASHES, tools: "T2" } }));
  await peer.expectNothing();

  h.app.setTools({ paint, erase: { ...erase, handler: () => "another handler, same definition" } });
  await peer.expectNothing();

  h.app.setTools({ paint, erase: { ...erase, timeoutMs: 1000 } });
  const third = await peer.next();
  assert.deepEqual(third["tools"], { hash: "T2" });
  assert.deepEqual(third["toolOptions"], { erase: { timeoutMs: 1000 } });
});

test("changes during a register are sent together after its answer", async (t) => {
  const h = await Harness.start(t, { tools: { paint } });
  const peer = await h.server.accept();
  await peer.next();
  h.app.setTools({ erase });
  h.app.setTools({ paint, erase });
  await peer.expectNothing();
  peer.send(registered());
  const register = await peer.next();
  assert.deepEqual(register["tools"], [PAINT, ERASE]);
  assert.deepEqual(register["rest"], { hash: "X1" });
  peer.send(registered({ hashes: { ...HASHES, tools: "T2" } }));
  await peer.expectNothing();
});

test("changes while offline are part of the next register", async (t) => {
  const { h, peer } = await Harness.online(t, { tools: { paint } });
  peer.close(1012);
  const { retryInMs } = await h.status("offline");
  h.app.setTools({});
  h.timers.advance(retryInMs ?? 0);
  const second = await h.server.accept();
  const register = await second.next();
  assert.deepEqual(register["tools"], []);
  assert.deepEqual(register["rest"], { hash: "X1" });
});

test("refused entries are told, and the others serve", async (t) => {
  const h = await Harness.start(t, { tools: { paint } });
  const told: unknown[] = [];
  h.app.on("rejected", (rejected) => told.push(rejected));
  const rejected = [{ kind: "tools", name: "paint", reason: "inputSchema must be an object" }];
  await h.register({ rejected });
  assert.deepEqual(told, [rejected]);
  assert.deepEqual(h.warnings, ["clientmcp: tools: paint was refused: inputSchema must be an object"]);
});

test("what cannot be registered is refused where it is given", async (t) => {
  const { h, peer } = await Harness.online(t, { tools: { paint } }, { limits: { maxMessageBytes: 1000 } });
  const large = { ...paint, description: "x".repeat(1000) };
  assert.throws(() => h.app.setTools({ large }), RangeError);
  assert.throws(() => h.app.setTools({ bad: {} as never }), /the tool bad has no handler/);
  await peer.expectNothing();
});

test("without registered, the connection is given up after a minute", async (t) => {
  const h = await Harness.start(t);
  const peer = await h.server.accept();
  await peer.next();
  for (let second = 0; second < 59; second++) {
    h.timers.advance(1000);
    if ((second + 1) % 20 === 0) await peer.expect({ type: "ping" });
    await peer.expectNothing();
  }
  h.timers.advance(1000);
  const status = await h.status("offline");
  assert.deepEqual([status.code, status.reason], [4408, "not registered within 60 s"]);
});

test("an answer without the subprotocol is no bridge", async (t) => {
  const h = await Harness.start(t, {}, await FakeServer.start("other"));
  const status = await h.status("offline");
  // A strict WebSocket fails the connection by itself, a lenient one leaves it to the SDK.
  assert.ok(status.code === 1002 || status.code === 1006, JSON.stringify(status));
});
