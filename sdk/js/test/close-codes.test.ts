/** One test per row of SPEC.md's table of close codes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Harness } from "./harness.js";

interface Row {
  code: number;
  /** what the SDK does with the connection in use */
  does: "reconnects at once" | "reconnects with backoff" | "stops";
  /** what it says where the frame has no reason */
  says: string;
  reported?: true;
}

const ROWS: Row[] = [
  { code: 1000, does: "reconnects at once", says: "the bridge closed the connection" },
  { code: 1001, does: "reconnects at once", says: "the bridge, or a proxy before it, went away" },
  { code: 1002, does: "reconnects with backoff", says: "protocol error", reported: true },
  {
    code: 1003,
    does: "reconnects with backoff",
    says: "a frame of a kind that the bridge does not take",
    reported: true,
  },
  { code: 1007, does: "reconnects with backoff", says: "a frame was not UTF-8", reported: true },
  { code: 1009, does: "reconnects with backoff", says: "a message was larger than the bridge takes" },
  { code: 1012, does: "reconnects at once", says: "the bridge restarts" },
  { code: 1013, does: "reconnects with backoff", says: "the bridge is overloaded" },
  { code: 1011, does: "reconnects with backoff", says: "the connection was closed" },
  { code: 4400, does: "stops", says: "the bridge did not understand a message", reported: true },
  {
    code: 4403,
    does: "stops",
    says: "the token's scope, or this page's origin, is not allowed",
    reported: true,
  },
  { code: 4408, does: "reconnects with backoff", says: "silent for too long" },
  { code: 4409, does: "stops", says: "another instance of this application took over" },
];

for (const { code, does, says, reported } of ROWS) {
  test(`${code} ${does}`, async (t) => {
    const { h, peer } = await Harness.online(t);
    peer.close(code);
    if (does === "stops") {
      assert.deepEqual(await h.status("stopped"), { state: "stopped", code, reason: says, clientId: "app-1" });
      assert.equal(h.timers.pending, 0);
    } else {
      const retryInMs = does === "reconnects at once" ? 100 : 250;
      const status = await h.retry();
      assert.deepEqual(status, { state: "offline", code, reason: says, retryInMs, clientId: "app-1" });
      await h.register();
    }
    assert.equal(h.warnings.length, reported ? 1 : 0);
  });
}

test("1006, no close frame, reconnects at once", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.cut();
  const status = await h.retry();
  assert.deepEqual([status.code, status.reason, status.retryInMs], [1006, "the connection was lost", 100]);
  await h.register();
});

test("1005, a close frame without a code, reconnects at once", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.close();
  const status = await h.retry();
  assert.deepEqual([status.code, status.retryInMs], [1005, 100]);
  await h.register();
});

test("the bridge's own reason is told", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.close(4403, "the token needs the scope clientmcp:serve");
  const status = await h.status("stopped");
  assert.equal(status.reason, "the token needs the scope clientmcp:serve");
  assert.deepEqual(h.warnings, ["clientmcp: stopped: the token needs the scope clientmcp:serve"]);
});

test("4409 stops until connect() is called", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.close(4409);
  await h.status("stopped");
  h.page?.handleOnline();
  h.timers.advance(3_600_000);
  h.app.connect();
  h.app.connect();
  const second = await h.register();
  await second.expectNothing();
  assert.equal(h.server.peers.length, 2);
});

test("close() closes with 1000 and does not come back", async (t) => {
  const { h, peer } = await Harness.online(t);
  h.app.close();
  assert.deepEqual(await peer.closed, { code: 1000, reason: "the application stopped" });
  const status = await h.status("stopped");
  assert.deepEqual([status.code, status.reason], [1000, "closed by the application"]);
  h.app.close();
  assert.equal(h.timers.pending, 0);
  h.app.connect();
  assert.equal((await (await h.server.accept()).next())["connection"], 2);
});

test("close() while waiting, and from within a listener, ends it all", async (t) => {
  const { h, peer } = await Harness.online(t);
  const seen: string[] = [];
  h.app.on("status", ({ state }) => {
    seen.push(state);
    if (state === "offline") h.app.close();
  });
  peer.cut();
  await h.status("offline");
  assert.deepEqual(seen, ["offline", "stopped"]);
  assert.equal(h.timers.pending, 0);
});

test("a listener that throws harms nothing", async (t) => {
  const { h, peer } = await Harness.online(t);
  const off = h.app.on("status", () => {
    throw new Error("oops");
  });
  peer.close(1012);
  await h.retry();
  off();
  await h.register();
  assert.match(h.warnings[0] ?? "", /a listener failed.*oops/);
});

test("a bridge that cannot be reached is tried again, with its address in the reason", async (t) => {
  const h = await Harness.start(t, { url: "ws://127.0.0.1:9/v1/connect" });
  const delays: (number | undefined)[] = [];
  for (let tries = 0; tries < 4; tries++) {
    const status = await h.retry();
    assert.deepEqual([status.code, status.reason], [1006, "could not connect to ws://127.0.0.1:9/v1/connect"]);
    delays.push(status.retryInMs);
  }
  assert.deepEqual(delays, [100, 250, 500, 1000]);
});

test("an address that is none stops", async (t) => {
  const h = await Harness.start(t, { url: "not an address" });
  assert.match((await h.status("stopped")).reason ?? "", /^not an address is no URL of a WebSocket: /);
});
