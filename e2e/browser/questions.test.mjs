// Handlers that ask, in a real browser: in a page with TLS (or on loopback) and in one without, which
// has no cryptography. Both wait for answers; only the first can seal a state.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";

import { chromium } from "playwright-core";

import { fakeBridge } from "./fake-bridge.mjs";

const SDK = new URL("../../cli/demo/clientmcp.js", import.meta.url);
const CONTEXT = { protocolVersion: "2026-07-28", clientCapabilities: { elicitation: {} }, subject: "someone" };
let browser;

before(async () => {
  browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  });
});

after(() => browser?.close());

/** A page of this origin, with an app that asks in both ways. */
async function openApp(origin) {
  const page = await browser.newPage();
  const bridge = await fakeBridge(page, "/v1/questions");
  await page.route(`${origin}/**`, async (route) => {
    const wantsSdk = new URL(route.request().url()).pathname === "/clientmcp.js";
    await route.fulfill(wantsSdk
      ? { contentType: "text/javascript", body: await readFile(SDK, "utf8") }
      : { contentType: "text/html", body: "<!doctype html><title>questions</title>" });
  });
  await page.goto(origin);
  await page.evaluate(async (url) => {
    const { connect, elicitRequest, inputRequired } = await import("/clientmcp.js");
    const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    connect({
      url,
      token: "any",
      serverInfo: { name: "questions", version: "1" },
      logger: null,
      tools: {
        wait: {
          handler: async (_, { elicit }) => {
            const { content } = await elicit("Name?", schema, { key: "name" });
            return `Hello, ${content.name}`;
          },
        },
        seal: {
          handler: (_, { inputResponses, state }) =>
            inputResponses
              ? `${state.greeting}, ${inputResponses.name.content.name}`
              : inputRequired({ requests: { name: elicitRequest("Name?", schema) }, state: { greeting: "Welcome" } }),
        },
      },
    });
  }, `${origin.replace("http", "ws")}/v1/questions`);
  return { page, bridge };
}

/** Calls a tool, and again with the answer to its question. */
async function askAndAnswer(bridge, name) {
  const first = await bridge.call(`${name} 1`, { name }, CONTEXT);
  if (first.result?.resultType !== "input_required") return first;
  assert.equal(first.result.inputRequests.name.method, "elicitation/create");
  const inputResponses = { name: { action: "accept", content: { name: "Ada" } } };
  return bridge.call(`${name} 2`, { name, inputResponses, requestState: first.result.requestState }, CONTEXT);
}

const text = ({ result }) => result.content[0].text;

test("on loopback a handler waits, and a state is sealed", async () => {
  const { page, bridge } = await openApp("http://127.0.0.1:1");
  assert.equal(await page.evaluate(() => isSecureContext), true);
  assert.equal(text(await askAndAnswer(bridge, "wait")), "Hello, Ada");
  assert.equal(text(await askAndAnswer(bridge, "seal")), "Welcome, Ada");
  await page.close();
});

test("without TLS a handler waits all the same, and sealing says what it needs", async () => {
  const { page, bridge } = await openApp("http://app.example");
  assert.deepEqual(await page.evaluate(() => [isSecureContext, typeof crypto.subtle]), [false, "undefined"]);
  assert.equal(text(await askAndAnswer(bridge, "wait")), "Hello, Ada");
  const refused = await askAndAnswer(bridge, "seal");
  assert.equal(refused.result.isError, true);
  assert.match(text(refused), /needs a secure context/);
  await page.close();
});
