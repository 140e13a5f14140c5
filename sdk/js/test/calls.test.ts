import assert from "node:assert/strict";
import { test } from "node:test";
import { CallCancelled, RpcError, ToolError } from "../src/errors.js";
import type { CallContext } from "../src/context.js";
import type { Tools } from "../src/offer/tools.js";
import { Harness } from "./harness.js";

const DEFINITION = { inputSchema: { type: "object" } };

/** A `call` as the bridge sends it. */
function call(id: string, name: string, members: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: "call",
    id,
    rootId: "root",
    round: 0,
    attempt: 0,
    method: "tools/call",
    params: { name, arguments: { color: "red" }, _meta: { progressToken: 7 } },
    deadlineMs: 120_000,
    context: {
      protocolVersion: "2025-11-25",
      clientInfo: { name: "agent", version: "1" },
      clientCapabilities: { elicitation: {} },
      subject: "someone",
      progress: false,
      tasks: false,
    },
    ...members,
  };
}

function text(value: string, isError?: true): Record<string, unknown> {
  return { content: [{ type: "text", text: value }], ...(isError && { isError }) };
}

/** What a handler returns or throws, and the member of the answer that follows. */
const OUTCOMES: [what: string, handler: Tools[string]["handler"], answer: Record<string, unknown>][] = [
  ["a text", () => "done", { result: text("done") }],
  ["a promise", async () => "done", { result: text("done") }],
  ["nothing", () => undefined, { result: { content: [] } }],
  ["an object", () => ({ a: [1] }), { result: { ...text('{"a":[1]}'), structuredContent: { a: [1] } } }],
  ["a list", () => [1, 2], { result: { ...text("[1,2]"), structuredContent: [1, 2] } }],
  ["a number", () => 7, { result: { ...text("7"), structuredContent: 7 } }],
  ["null", () => null, { result: { ...text("null"), structuredContent: null } }],
  [
    "a result of MCP",
    () => ({ content: [{ type: "image", data: "AA==", mimeType: "image/png" }], _meta: { a: 1 } }),
    { result: { content: [{ type: "image", data: "AA==", mimeType: "image/png" }], _meta: { a: 1 } } },
  ],
  [
    "a request for input",
    () => ({ resultType: "input_required", inputRequests: {} }),
    { result: { resultType: "input_required", inputRequests: {} } },
  ],
  ["a ToolError", () => Promise.reject(new ToolError("no such color")), { result: text("no such color", true) }],
  ["another error", () => Promise.reject(new TypeError("x is not y")), { result: text("x is not y", true) }],
  ["an error without a text", () => Promise.reject(new RangeError()), { result: text("RangeError", true) }],
  ["a thrown text", () => Promise.reject("oops"), { result: text("oops", true) }],
  [
    "an RpcError",
    () => Promise.reject(new RpcError(-32602, "bad color", { color: "rod" })),
    { error: { code: -32602, message: "bad color", data: { color: "rod" } } },
  ],
  ["an RpcError without data", () => Promise.reject(new RpcError(1, "no")), { error: { code: 1, message: "no" } }],
  ["a function", () => () => {}, { result: text("a tool returned a function, which is no JSON", true) }],
];

for (const [what, handler, answer] of OUTCOMES) {
  test(`a handler yields ${what}`, async (t) => {
    const { peer } = await Harness.online(t, { tools: { tool: { ...DEFINITION, handler } } });
    peer.send(call("c1", "tool"));
    await peer.expect({ type: "error" in answer ? "error" : "result", id: "c1", ...answer });
  });
}

test("values that JSON cannot express become errors for the model", async (t) => {
  const loop: Record<string, unknown> = {};
  loop["loop"] = loop;
  let deep: unknown = 1;
  for (let i = 0; i < 127; i++) deep = [deep];
  const values: Record<string, unknown> = { big: { n: 1n }, loop, deep, notDeep: { deep: "[".repeat(200) + '\\"' } };
  const { peer } = await Harness.online(t, {
    tools: { tool: { handler: ({ name }) => values[String(name)] } },
  });
  const ask = async (name: string): Promise<string> => {
    peer.send(call(`c-${name}`, "tool", { params: { name: "tool", arguments: { name } } }));
    return JSON.stringify((await peer.next())["result"]);
  };
  assert.match(await ask("big"), /BigInt.*"isError":true/);
  assert.match(await ask("loop"), /circular.*"isError":true/);
  assert.match(await ask("deep"), /nested deeper than 128 levels.*"isError":true/);
  assert.match(await ask("notDeep"), /structuredContent/);
});

test("halves of characters are replaced, wherever they stand", async (t) => {
  const { peer } = await Harness.online(t, {
    tools: {
      cut: { handler: () => "😀".slice(0, 1) + "\\ud83d \\\\" + "😀".slice(1) + '"😀\n' },
      rpc: { handler: () => Promise.reject(new RpcError(1, "cut \ud83d")) },
    },
  });
  peer.send(call("c1", "cut"));
  await peer.expect({ type: "result", id: "c1", result: text('\ufffd\\ud83d \\\\\ufffd"😀\n') });
  peer.send(call("c2", "rpc"));
  await peer.expect({ type: "error", id: "c2", error: { code: 1, message: "cut \ufffd" } });
});

test("an RpcError has an integer as its code", () => {
  for (const code of [1.5, NaN, 1e300, "1" as never]) assert.throws(() => new RpcError(code, "x"), TypeError);
});

test("a result over the limit, counted in UTF-8, becomes an error that names it", async (t) => {
  const limits = { maxMessageBytes: 2000 };
  const { peer } = await Harness.online(
    t,
    {
      tools: {
        tool: { handler: ({ text }) => text },
        rpc: { handler: ({ text }) => Promise.reject(new RpcError(1, text)) },
      },
    },
    { limits },
  );
  const frame = '{"type":"result","id":"c1","result":{"content":[{"type":"text","text":""}]}}'.length;
  let calls = 0;
  const ask = async (name: string, text: string): Promise<Record<string, unknown>> => {
    peer.send(call(`c${++calls}`, name, { params: { name, arguments: { text } } }));
    return peer.next();
  };
  const fitting = "a".repeat(2000 - frame);
  assert.deepEqual((await ask("tool", fitting))["result"], text(fitting));
  const problem = "and a message may be at most 2000 bytes (maxMessageBytes): ask for less";
  assert.deepEqual(
    (await ask("tool", fitting + "a"))["result"],
    text(`the result takes a message of 2001 bytes, ${problem}`, true),
  );
  assert.deepEqual(
    (await ask("tool", "é".repeat(1000)))["result"],
    text(`the result takes a message of ${2000 + frame} bytes, ${problem}`, true),
  );
  const error = (await ask("rpc", "€".repeat(700)))["error"] as Record<string, unknown>;
  assert.equal(error["code"], 1);
  assert.match(String(error["message"]), /at most 2000 bytes/);
});

test("an outputSchema makes a text structured as well", async (t) => {
  const { peer } = await Harness.online(t, {
    tools: { tool: { outputSchema: { type: "string" }, handler: () => "x" } },
  });
  peer.send(call("c1", "tool"));
  await peer.expect({ type: "result", id: "c1", result: { ...text("x"), structuredContent: "x" } });
});

test("the handler gets its arguments and context", async (t) => {
  let got: [unknown, CallContext] | undefined;
  const { peer } = await Harness.online(t, {
    tools: { tool: { handler: (args, context) => ((got = [args, context]), "ok") } },
  });
  peer.send(call("c1", "tool"));
  await peer.next();
  const [args, context] = got ?? assert.fail();
  const { signal, progress, log, elicit, elicitUrl, sample, listRoots, becomeTask, ...rest } = context;
  assert.deepEqual(args, { color: "red" });
  assert.deepEqual(rest, {
    callId: "c1",
    rootId: "root",
    protocolVersion: "2025-11-25",
    clientInfo: { name: "agent", version: "1" },
    clientCapabilities: { elicitation: {} },
    subject: "someone",
    logLevel: undefined,
    tasks: false,
    inputResponses: undefined,
    state: undefined,
    params: { name: "tool", arguments: { color: "red" }, _meta: { progressToken: 7 } },
  });
  assert.equal(signal.aborted, false);
  progress(1);
  log("error", "late");
  await peer.expectNothing();
});

test("calls that cannot be made are JSON-RPC errors", async (t) => {
  const { peer } = await Harness.online(t, { tools: { tool: { handler: () => "ok" } } });
  for (const name of ["other", "toString", "__proto__"]) {
    peer.send(call(name, name));
    await peer.expect({ type: "error", id: name, error: { code: -32602, message: `Unknown tool: ${name}` } });
  }
  for (const [id, given] of Object.entries({ list: [1], text: "a", number: 1 })) {
    peer.send(call(id, "tool", { params: { name: "tool", arguments: given } }));
    const error = { code: -32602, message: "arguments must be an object" };
    await peer.expect({ type: "error", id, error });
  }
  peer.send(call("c2", "tool", { params: { name: "tool" } }));
  await peer.expect({ type: "result", id: "c2", result: text("ok") });
  peer.send(call("c3", "tool", { method: "prompts/list" }));
  const error = { code: -32601, message: "the application does not offer prompts/list" };
  await peer.expect({ type: "error", id: "c3", error });
});

test("setTools replaces the handlers at once", async (t) => {
  const { h, peer } = await Harness.online(t, { tools: { tool: { handler: () => "old" } } });
  h.app.setTools({ tool: { handler: () => "new" } });
  peer.send(call("c1", "tool"));
  await peer.expect({ type: "result", id: "c1", result: text("new") });
});

test("progress goes only to agents that want it, and only what JSON can express", async (t) => {
  const { peer } = await Harness.online(t, {
    tools: {
      tool: {
        handler: (_, context) => {
          context.progress(1);
          context.progress(2, 10, "half way");
          context.progress(NaN);
          context.progress(3, Infinity, 4 as never);
          context.progress("5" as never);
          return "ok";
        },
      },
    },
  });
  peer.send(call("quiet", "tool"));
  await peer.expect({ type: "result", id: "quiet", result: text("ok") });
  peer.send(call("c1", "tool", { context: { progress: true } }));
  await peer.expect({ type: "progress", id: "c1", progress: 1 });
  await peer.expect({ type: "progress", id: "c1", progress: 2, total: 10, message: "half way" });
  await peer.expect({ type: "progress", id: "c1", progress: 3, message: "4" });
  await peer.expect({ type: "result", id: "c1", result: text("ok") });
});

test("log messages go out from the level that the agent asked for", async (t) => {
  const { h, peer } = await Harness.online(t, {
    tools: {
      tool: {
        handler: (_, context) => {
          context.log("debug", 1);
          context.log("info", { a: 1 }, "db");
          context.log("loud" as never, 1);
          context.log("emergency", undefined);
          context.log("error", { n: 1n });
          return "ok";
        },
      },
    },
  });
  peer.send(call("quiet", "tool"));
  await peer.expect({ type: "result", id: "quiet", result: text("ok") });
  peer.send(call("c1", "tool", { context: { logLevel: "info" } }));
  await peer.expect({ type: "log", id: "c1", level: "info", logger: "db", data: { a: 1 } });
  await peer.expect({ type: "log", id: "c1", level: "emergency", data: null });
  await peer.expect({ type: "result", id: "c1", result: text("ok") });
  assert.match(h.warnings.join(), /a log message could not be sent.*BigInt/);
});

test("a cancel aborts the signal, and nothing is sent any more", async (t) => {
  let context: CallContext | undefined;
  const { h, peer } = await Harness.online(t, {
    tools: {
      tool: {
        handler: (_, given) => {
          context = given;
          return new Promise((_, reject) => given.signal.addEventListener("abort", () => reject(given.signal.reason)));
        },
      },
    },
  });
  peer.send({ type: "cancel", id: "unheard of", reason: "agent" });
  peer.send(call("c1", "tool", { context: { progress: true, logLevel: "debug" } }));
  await peer.expectNothing();
  peer.send({ type: "cancel", id: "c1", reason: "disconnect" });
  peer.send({ type: "cancel", id: "c1", reason: "agent" });
  await peer.expectNothing();
  const { signal } = context ?? assert.fail();
  assert.ok(signal.reason instanceof CallCancelled);
  assert.deepEqual([signal.reason.name, signal.reason.reason], ["AbortError", "disconnect"]);
  context?.progress(1);
  context?.log("error", 1);
  await peer.expectNothing();
  assert.deepEqual(h.warnings, []);
});

test("close() aborts what runs", async (t) => {
  let signal: AbortSignal | undefined;
  const { h, peer } = await Harness.online(t, {
    tools: { tool: { handler: (_, context) => ((signal = context.signal), new Promise(() => {})) } },
  });
  peer.send(call("c1", "tool"));
  await peer.expectNothing();
  h.app.close();
  assert.equal((signal?.reason as CallCancelled).reason, "closed");
});

test("a deadline whose cancel was lost with the socket aborts all the same", async (t) => {
  let signal: AbortSignal | undefined;
  const { h, peer } = await Harness.online(
    t,
    { tools: { tool: { handler: (_, context) => ((signal = context.signal), new Promise(() => {})) } } },
    { limits: { pingIntervalMs: 1e6, silenceTimeoutMs: 1e6 } },
  );
  peer.send(call("c1", "tool", { deadlineMs: 10_000 }));
  await peer.expectNothing();
  h.timers.advance(14_999);
  assert.equal(signal?.aborted, false);
  h.timers.advance(1);
  assert.equal((signal?.reason as CallCancelled).reason, "timeout");
});

test("malformed messages of the bridge do not end the process", async (t) => {
  const { h, peer } = await Harness.online(t);
  peer.send({ type: "settled", ids: 7 });
  peer.send({ type: "subscriptions", uris: ["a:b"] });
  peer.send({ type: "authorized" });
  peer.send({ type: "call", method: "tools/call", params: {} });
  await peer.expectNothing();
  assert.equal(h.app.status.state, "online");
});
