import assert from "node:assert/strict";
import { test } from "node:test";
import type { TokenRequest } from "../src/token.js";
import { Harness } from "./harness.js";

const WEEKS_MS = 2 ** 31 * 2;
/** Limits with which neither pings nor silence get in the way of a clock that jumps. */
const NO_PINGS = { limits: { pingIntervalMs: WEEKS_MS, silenceTimeoutMs: WEEKS_MS } };

/** A callback that yields these one by one; errors are thrown. */
function callback(...answers: (string | null | Error)[]) {
  const reasons: string[] = [];
  const token = ({ reason }: TokenRequest): string | null => {
    reasons.push(reason);
    const answer = answers.shift();
    if (answer === undefined) throw new Error("asked too often");
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { token, reasons };
}

test("a callback's token is kept for the next connection", async (t) => {
  const { token, reasons } = callback("a\n");
  const { h, peer } = await Harness.online(t, { token });
  assert.equal(peer.token, "a");
  peer.close(1012);
  await h.retry();
  assert.equal((await h.register()).token, "a");
  assert.deepEqual(reasons, ["connect"]);
});

test("it is renewed in place at four fifths of its life", async (t) => {
  const { token, reasons } = callback("a", "b", "c");
  const { h, peer } = await Harness.online(t, { token }, { expiresInMs: 10_000, ...NO_PINGS });
  h.timers.advance(7999);
  await peer.expectNothing();
  h.timers.advance(1);
  await peer.expect({ type: "auth", token: "b" });
  peer.send({ type: "authorized", expiresAt: 0, expiresInMs: 15_000 });
  await peer.expectNothing();
  h.timers.advance(11_999);
  await peer.expectNothing();
  h.timers.advance(1);
  await peer.expect({ type: "auth", token: "c" });
  assert.deepEqual(reasons, ["connect", "expiring", "expiring"]);
});

test("a life longer than setTimeout can count is waited for", async (t) => {
  const { token, reasons } = callback("a", "b");
  const { h, peer } = await Harness.online(t, { token }, { expiresInMs: WEEKS_MS, ...NO_PINGS });
  h.timers.advance(WEEKS_MS * 0.8 - 1);
  assert.deepEqual(reasons, ["connect"]);
  h.timers.advance(1);
  await peer.expect({ type: "auth", token: "b" });
});

test("a renewal that fails, or yields the same token, is tried again until the end", async (t) => {
  const { token, reasons } = callback("a", new Error("503"), "a", "b");
  const { h, peer } = await Harness.online(t, { token }, { expiresInMs: 100_000, ...NO_PINGS });
  for (const delay of [80_000, 10_000, 5_000]) {
    h.timers.advance(delay);
    await new Promise(setImmediate);
  }
  await peer.expect({ type: "auth", token: "b" });
  assert.equal(reasons.length, 4);
  assert.deepEqual(h.warnings, ["clientmcp: the token could not be renewed: 503"]);
});

test("a token that is near its end is replaced before the next connection", async (t) => {
  const { token, reasons } = callback("a", "b");
  const { h, peer } = await Harness.online(t, { token }, { expiresInMs: 1000, reconnectWithinMs: 2000 });
  peer.cut();
  await h.retry();
  assert.equal((await h.register()).token, "b");
  assert.deepEqual(reasons, ["connect", "expiring"]);
});

test("4401 asks for another token, once", async (t) => {
  const { token, reasons } = callback("a", "b", "c");
  const { h, peer } = await Harness.online(t, { token });
  peer.close(4401, "the token has expired");
  const status = await h.retry();
  assert.deepEqual([status.code, status.reason, status.retryInMs], [4401, "the token has expired", 100]);
  const second = await h.server.accept();
  assert.equal(second.token, "b");
  await second.next();
  second.close(4401, "wrong signature");
  const stopped = await h.status("stopped");
  assert.equal(stopped.code, 4401);
  assert.equal(stopped.reason, "wrong signature (a new token from the callback was refused as well)");
  assert.deepEqual(reasons, ["connect", "refused"]);

  h.app.connect();
  assert.equal((await h.register()).token, "c");
  assert.deepEqual(reasons, ["connect", "refused", "connect"]);
});

test("after a token was accepted, 4401 asks again", async (t) => {
  const { token, reasons } = callback("a", "b", "c");
  const { h, peer } = await Harness.online(t, { token });
  peer.close(4401);
  await h.retry();
  const second = await h.register();
  second.close(4401);
  await h.retry();
  assert.equal((await h.register()).token, "c");
  assert.deepEqual(reasons, ["connect", "refused", "refused"]);
});

test("4401 stops if the callback gives the same token again", async (t) => {
  const { token } = callback("a", "a");
  const { h, peer } = await Harness.online(t, { token });
  peer.close(4401);
  await h.retry();
  const status = await h.status("stopped");
  assert.deepEqual([status.code, status.reason], [4401, "the token callback gave the refused token again"]);
});

test("4401 stops if the token is a string", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.close(4401, "the token has expired");
  const status = await h.status("stopped");
  const reason = "the token has expired (the token is a fixed string, so there is no other to try)";
  assert.deepEqual([status.code, status.reason], [4401, reason]);
  assert.deepEqual(h.warnings, [`clientmcp: stopped: ${reason}`]);
});

test("4401 before the first registered is handled alike", async (t) => {
  const { token } = callback("a", "b");
  const h = await Harness.start(t, { token });
  const peer = await h.server.accept();
  await peer.next();
  peer.close(4401);
  await h.retry();
  assert.equal((await h.register()).token, "b");
});

test("a callback that fails is asked again, with backoff", async (t) => {
  const { token, reasons } = callback(new TypeError("fetch failed"), new Error("503"), "a");
  const h = await Harness.start(t, { token });
  const first = await h.retry();
  assert.equal(first.code, undefined);
  assert.deepEqual([first.reason, first.retryInMs], ["the token callback failed: fetch failed", 250]);
  assert.equal((await h.retry()).retryInMs, 250);
  assert.equal((await h.register()).token, "a");
  assert.deepEqual(reasons, ["connect", "connect", "connect"]);
});

test("a refusal whose replacement fails to come is not forgotten", async (t) => {
  const { token, reasons } = callback("a", new Error("503"), "b");
  const { h, peer } = await Harness.online(t, { token });
  peer.close(4401);
  await h.retry();
  await h.retry();
  assert.equal((await h.register()).token, "b");
  assert.deepEqual(reasons, ["connect", "refused", "refused"]);
});

test("a callback without an answer is given up after 30 s", async (t) => {
  const h = await Harness.start(t, { token: () => new Promise<string>(() => {}) });
  h.timers.advance(30_000);
  assert.equal((await h.status("offline")).reason, "the token callback failed: no token within 30 s");
});

for (const [given, reason] of [
  [null, "there is no token"],
  [undefined, "there is no token"],
  ["", "there is no token"],
  ["two words", "the token is no JWT: it has characters that cannot travel in a header"],
] as const) {
  test(`${JSON.stringify(given)} as a token stops`, async (t) => {
    const h = await Harness.start(t, { token: () => given });
    const status = await h.status("stopped");
    assert.deepEqual([status.code, status.reason], [4401, reason]);
  });
}
