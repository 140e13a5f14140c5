import assert from "node:assert/strict";
import { test } from "node:test";
import { Reconnect } from "../src/reconnect.js";
import { Harness } from "./harness.js";

/** The delays that follow from closes of the connection in use, each after it lasted a while. */
function delays(reconnect: Reconnect, closes: [code: number, lastedMs: number][]): number[] {
  let now = 0;
  return closes.map(([code, lastedMs]) => {
    reconnect.handleRegistered(now, 200, false);
    now += lastedMs;
    const plan = reconnect.handleClosed(code, now, true);
    return plan.kind === "stop" ? -1 : plan.delayMs;
  });
}

test("the first delay is uniform within the window of the last registered", () => {
  const samples: number[] = [];
  for (const random of [0, 0.25, 0.999]) {
    const reconnect = new Reconnect(() => random);
    reconnect.handleRegistered(0, 4000, false);
    const plan = reconnect.handleClosed(1012, 1, true);
    samples.push(plan.kind === "stop" ? -1 : plan.delayMs);
  }
  assert.deepEqual(samples, [0, 1000, 3996]);
});

test("later delays double up to the cap, with full jitter", () => {
  const short = Array.from({ length: 10 }, (): [number, number] => [1006, 10]);
  assert.deepEqual(
    delays(new Reconnect(() => 1), short),
    [200, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000],
  );
  assert.deepEqual(delays(new Reconnect(() => 0), short), Array(10).fill(0));
});

test("an overload backs off from the first delay on", () => {
  assert.deepEqual(delays(new Reconnect(() => 1), [[1013, 10], [1013, 10], [1013, 10]]), [500, 500, 1000]);
});

test("only a connection that lasted 2 s resets the backoff", () => {
  const closes: [number, number][] = [[1012, 10], [1012, 1_999], [1012, 1_999], [1012, 2_000], [1012, 10]];
  assert.deepEqual(delays(new Reconnect(() => 1), closes), [200, 500, 1000, 200, 500]);
});

test("connections that never register do not reset it, however long ago the last one was", () => {
  const reconnect = new Reconnect(() => 1);
  reconnect.handleRegistered(0, 200, false);
  const plans = [1, 2, 3].map((hour) => reconnect.handleClosed(1006, hour * 3_600_000, false));
  assert.deepEqual(plans.map((plan) => plan.kind !== "stop" && plan.delayMs), [200, 500, 1000]);
});

test("a connection that took over has stood as long as those before it", () => {
  const reconnect = new Reconnect(() => 1);
  const lost = (now: number): number => {
    const plan = reconnect.handleClosed(1006, now, true);
    return plan.kind === "stop" ? -1 : plan.delayMs;
  };
  reconnect.handleRegistered(0, 200, false);
  assert.equal(lost(1_000), 200);
  reconnect.handleRegistered(1_200, 200, false);
  reconnect.handleRegistered(2_400, 300, true);
  reconnect.handleRegistered(3_199, 400, true);
  assert.equal(lost(3_200), 400);
  reconnect.handleRegistered(3_400, 200, false);
  reconnect.handleRegistered(5_399, 200, true);
  assert.equal(lost(5_399), 500);
});

test("the window of the last registered is used", async (t) => {
  const { h, peer } = await Harness.online(t, {}, { reconnectWithinMs: 3000 });
  peer.close(1012);
  assert.equal((await h.status("offline")).retryInMs, 1500);
});

test("an accepting and dropping bridge meets a growing backoff", async (t) => {
  const h = await Harness.start(t);
  const seen: (number | undefined)[] = [];
  for (let round = 0; round < 4; round++) {
    const peer = await h.register();
    peer.cut();
    seen.push((await h.retry()).retryInMs);
  }
  assert.deepEqual(seen, [100, 250, 500, 1000]);
});

test("the network's return ends the waiting", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.cut();
  await h.status("offline");
  h.page?.handleOnline();
  await h.register();
});
