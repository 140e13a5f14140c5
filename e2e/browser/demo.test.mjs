// The demo page in a real browser: it comes online, an agent's call changes it, a refused token
// shows why, and a lost cluster shows offline until it is back.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { chromium } from "playwright-core";

import { DevCluster } from "./dev-cluster.mjs";

const PATIENCE_MS = 30_000;
let browser;
let cluster;

before(async () => {
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
  cluster = await DevCluster.start();
});

after(async () => {
  await browser?.close();
  await cluster?.kill();
});

/** Opens the page and waits until it shows a status. */
async function open(path, status) {
  const page = await browser.newPage();
  await page.goto(cluster.origin + path);
  await shows(page, status);
  return page;
}

/** Waits until the page shows a status. */
function shows(page, status) {
  return page.locator(`#status[data-status="${status}"]`).waitFor({ timeout: PATIENCE_MS });
}

async function agent(options) {
  const client = new Client({ name: "browser-test", version: "1.0.0" }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(cluster.agentUrl), {
    requestInit: { headers: { Authorization: `Bearer ${cluster.agentToken}` } },
  }));
  return client;
}

test("the page comes online and an agent's calls change it", async () => {
  const page = await open("/", "online");
  const client = await agent();
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["set_background", "show_message", "add_item", "clear_items"]);

  const said = await client.callTool({ name: "show_message", arguments: { text: "Hello <b>there</b>" } });
  assert.ok(!said.isError, JSON.stringify(said));
  assert.equal(await page.locator("#message").textContent(), "Hello <b>there</b>");

  await client.callTool({ name: "add_item", arguments: { text: "first" } });
  await client.callTool({ name: "add_item", arguments: { text: "second" } });
  assert.deepEqual(await page.locator("#items li").allTextContents(), ["first", "second"]);

  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const was = await background();
  await client.callTool({ name: "set_background", arguments: { color: "rgb(1, 2, 3)" } });
  await page.waitForFunction((was) => getComputedStyle(document.body).backgroundColor !== was, was);

  await client.close();
  await page.close();
});

test("a tool asks the person through the agent, and the list is a resource that can be watched", async () => {
  const page = await open("/", "online");
  const client = await agent({
    capabilities: { elicitation: {} },
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  });
  const answers = [{ action: "decline" }, { action: "accept", content: { sure: true } }];
  const asked = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push(params.message);
    return answers.shift();
  });
  const items = async () => (await client.readResource({ uri: "demo://items" })).contents[0].text;

  await client.callTool({ name: "add_item", arguments: { text: "first" } });
  await client.callTool({ name: "add_item", arguments: { text: "second" } });
  assert.equal(await items(), "first\nsecond");
  const kept = await client.callTool({ name: "clear_items", arguments: {} });
  assert.equal(kept.content[0].text, "The person keeps the items.");
  assert.deepEqual(await page.locator("#items li").allTextContents(), ["first", "second"]);
  const cleared = await client.callTool({ name: "clear_items", arguments: {} });
  assert.equal(cleared.content[0].text, "The list is empty now.");
  assert.deepEqual(await page.locator("#items li").allTextContents(), []);
  assert.equal(await items(), "");
  assert.deepEqual(asked, Array(2).fill("Remove all items (2) from the list?"));

  const { messages } = await client.getPrompt({ name: "summarize", arguments: { style: "funny" } });
  assert.match(messages[0].content.text, /^Read demo:\/\/items, and show a funny summary/);
  await client.close();
  await page.close();
});

test("a wrong token shows why", async () => {
  const page = await open("/?token=wrong", "stopped");
  assert.match(await page.locator("#reason").textContent(), /4401|token/i);
  await page.close();
});

test("a token without the scope of an app shows why", async () => {
  const page = await open(`/?token=${cluster.agentToken}`, "stopped");
  assert.match(await page.locator("#reason").textContent(), /4403|scope/i);
  await page.close();
});

test("an expired token closes with 4401 in the browser", async () => {
  const page = await browser.newPage();
  await page.goto(`${cluster.origin}/`);
  const close = await page.evaluate(({ url, token }) => new Promise((resolve) => {
    const socket = new WebSocket(url, ["clientmcp.v1", `clientmcp.token.${token}`]);
    socket.onclose = ({ code, reason }) => resolve({ code, reason });
  }), { url: cluster.connectUrl, token: expired() });
  assert.equal(close.code, 4401);
  assert.notEqual(close.reason, "");
  await page.close();
});

test("a second page takes over and the first says so", async () => {
  const first = await open("/", "online");
  const second = await open("/", "online");
  await shows(first, "stopped");
  assert.match(await first.locator("#reason").textContent(), /4409|another/i);
  await first.close();
  await second.close();
});

test("a killed cluster shows offline, and the page comes back by itself", async () => {
  const page = await open("/", "online");
  const { listen } = cluster;
  await cluster.kill();
  await page.locator('#status[data-status="offline"], #status[data-status="connecting"]').first()
    .waitFor({ timeout: PATIENCE_MS });
  cluster = await DevCluster.start({ listen });
  await shows(page, "online");
  const client = await agent();
  await client.callTool({ name: "show_message", arguments: { text: "back" } });
  assert.equal(await page.locator("#message").textContent(), "back");
  await client.close();
  await page.close();
});

/** A token of this cluster that expired long ago. */
function expired() {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: "demo", scope: "clientmcp:serve", exp: 1 })}`;
  return `${text}.${createHmac("sha256", DevCluster.secret).update(text).digest("base64url")}`;
}
