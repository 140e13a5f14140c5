// A hidden page: browsers run its timers once a second, later once a minute, and the SDK must keep
// its time all the same, from a worker. A headless browser never hides a page, so the page's own
// timers are slowed down by the test, as a hidden page's are; the worker and its timers are real.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { DevCluster } from "./dev-cluster.mjs";
import { fakeBridge } from "./fake-bridge.mjs";

const PING_INTERVAL_MS = 50;
const PINGS = 20;
const HIDDEN_TICK_MS = 60_000;
let browser;
let cluster;

before(async () => {
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  });
  cluster = await DevCluster.start();
});

after(async () => {
  await browser?.close();
  await cluster?.kill();
});

test("an app in a hidden page pings, and comes back after a loss, in time", async () => {
  const page = await browser.newPage();
  const limits = { pingIntervalMs: PING_INTERVAL_MS, silenceTimeoutMs: 300_000 };
  const { sockets, until } = await fakeBridge(page, "/v1/hidden", limits);
  await page.goto(cluster.origin);
  await page.evaluate(async (url) => {
    const { connect } = await import("/sdk/clientmcp.js");
    window.app = connect({ url, token: "any", serverInfo: { name: "hidden", version: "1" } });
  }, `${cluster.origin.replace("http", "ws")}/v1/hidden`);
  // The worker has started by the time of the first pings.
  await until(() => sockets[0]?.pings >= 2);
  await page.evaluate((tick) => {
    const { setTimeout } = window;
    window.slowed = 0;
    window.setTimeout = (run, ms = 0, ...rest) => {
      window.slowed++;
      return setTimeout(run, Math.ceil((ms + 1) / tick) * tick, ...rest);
    };
  }, HIDDEN_TICK_MS);

  const had = sockets[0].pings;
  await until(() => sockets[0].pings >= had + PINGS);
  await sockets[0].socket.close({ code: 1012 });
  await until(() => sockets[1]?.pings >= PINGS);
  await sockets[1].socket.close({ code: 1013 });
  await until(() => sockets[2]?.pings >= PINGS);
  assert.equal(await page.evaluate(() => window.slowed), 0, "a timer of the page was used");
  assert.equal(await page.evaluate(() => window.app.status.state), "online");
  await page.close();
});
