import assert from "node:assert/strict";
import { test } from "node:test";
import { Harness } from "./harness.js";

const PING = { type: "ping" };

test("pings are sent and answered, by the exact text", async (t) => {
  const { h, peer } = await Harness.online(t, {}, { limits: { pingIntervalMs: 7000, silenceTimeoutMs: 45000 } });
  h.timers.advance(6999);
  await peer.expectNothing();
  h.timers.advance(1);
  await peer.expect(PING);
  peer.send('{"type":"pong"}');
  h.timers.advance(7000);
  await peer.expect(PING);
  await peer.expectNothing();
});

test("a silent connection is given up and replaced", async (t) => {
  const { h, peer } = await Harness.online(t);
  h.timers.advance(44_999);
  await peer.expect(PING);
  await peer.expect(PING);
  h.timers.advance(1);
  const status = await h.retry();
  assert.deepEqual([status.code, status.reason], [4408, "nothing was received for 45 s"]);
  assert.equal((await peer.closed).code, 4408);
  await h.register();
});

test("whatever is received counts as a sign of life", async (t) => {
  const { h, peer } = await Harness.online(t);
  const signs = ['{"type":"pong"}', '{"type":"ping"}', '{"type":"from a later version"}', "no JSON", "[]", "7"];
  for (const sign of signs) {
    h.timers.advance(19_999);
    peer.send(sign);
    if (sign === '{"type":"ping"}') await peer.expect({ type: "pong" });
    h.timers.advance(1);
    await peer.expect(PING);
    await peer.expectNothing();
  }
  peer.sendBinary(new Uint8Array(4));
  h.timers.advance(19_999);
  await peer.expectNothing();
  assert.equal(h.app.status.state, "online");
});

test("a bridge that accepts the connection but nothing else is given up", async (t) => {
  const h = await Harness.start(t);
  const peer = await h.server.accept();
  await peer.next();
  h.timers.advance(45_000);
  const status = await h.status("offline");
  assert.equal(status.code, 4408);
  await peer.expect(PING);
  await peer.expect(PING);
});

for (const event of ["handleOnline", "handleVisible"] as const) {
  test(`${event}: a dead connection is found within seconds`, async (t) => {
    const { h, peer } = await Harness.online(t);
    h.timers.advance(1);
    h.page?.[event]();
    await peer.expect(PING);
    h.timers.advance(5000);
    const status = await h.status("offline");
    assert.deepEqual([status.code, status.reason], [1006, "the connection was dead"]);
  });

  test(`${event}: a living connection stays`, async (t) => {
    const { h, peer } = await Harness.online(t);
    h.timers.advance(1);
    h.page?.[event]();
    await peer.expect(PING);
    await peer.expectNothing();
    h.timers.advance(5000);
    assert.equal(h.app.status.state, "online");
    await peer.expectNothing();
  });
}
