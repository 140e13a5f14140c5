/** Handlers that ask the agent and its user, and go on when the answers are there. */
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { z } from "zod";
import type { CallContext } from "../src/context.js";
import { CallCancelled, MissingCapability } from "../src/errors.js";
import type { Tools } from "../src/offer/tools.js";
import { callOf, textResult, toolCall, type CallMembers } from "./call.js";
import type { Peer } from "./fake-server.js";
import { Harness } from "./harness.js";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
const STATE_REFUSED = {
  code: -32602,
  message: "requestState is not what this application gave for this request, or has expired: call again without it",
};

const tools: Tools = {
  greet: {
    handler: async (_, { elicit }) => {
      const answer = await elicit("Who are you?", NAME, { key: "who" });
      return answer.action === "accept" ? `Hello, ${answer.content.name}` : `No name: ${answer.action}`;
    },
  },
  twice: {
    handler: async (_, ctx) => {
      const first = ctx.callId;
      const roots = await ctx.listRoots();
      const second = ctx.callId;
      ctx.progress(1);
      ctx.log("info", "between");
      const { content } = await ctx.sample({ messages: [], maxTokens: 9 });
      return [first, second, ctx.callId, ctx.rootId, roots.length, content.text];
    },
  },
};

interface Asked {
  requests: Record<string, { method: string; params?: Record<string, unknown> }>;
  state: string;
}

/** The next answer asks for input. */
async function asked(peer: Peer, id: string): Promise<Asked> {
  const { type, id: answered, result } = (await peer.next()) as Record<string, any>;
  assert.deepEqual([type, answered, result?.resultType], ["result", id, "input_required"], JSON.stringify(result));
  assert.deepEqual(Object.keys(result).sort(), ["inputRequests", "requestState", "resultType"]);
  return { requests: result.inputRequests, state: result.requestState };
}

/** The agent calls again, with answers. */
function again(id: string, name: string, requestState: string, inputResponses: unknown, members: CallMembers = {}) {
  const { params, ...others } = members;
  return toolCall(id, name, {}, { params: { requestState, inputResponses, ...params }, rootId: "root", round: 1, ...others });
}

const accept = (content: Record<string, unknown>) => ({ action: "accept", content });

async function start(t: TestContext, given: Tools = tools): Promise<{ h: Harness; peer: Peer }> {
  return Harness.online(t, { tools: given }, { limits: { pingIntervalMs: 1e9, silenceTimeoutMs: 1e9 } });
}

test("a handler that asks a form goes on with the answer", async (t) => {
  const { peer } = await start(t);
  peer.send(toolCall("c1", "greet", {}));
  const { requests, state } = await asked(peer, "c1");
  assert.deepEqual(requests, {
    who: { method: "elicitation/create", params: { mode: "form", message: "Who are you?", requestedSchema: NAME } },
  });
  peer.send(again("c2", "greet", state, { who: accept({ name: "Ada" }), more: 1 }));
  await peer.expect({ type: "result", id: "c2", result: textResult("Hello, Ada") });
});

for (const action of ["decline", "cancel"]) {
  test(`a user may ${action}`, async (t) => {
    const { peer } = await start(t);
    peer.send(toolCall("c1", "greet", {}));
    const { state } = await asked(peer, "c1");
    peer.send(again("c2", "greet", state, { who: { action } }));
    await peer.expect({ type: "result", id: "c2", result: textResult(`No name: ${action}`) });
  });
}

test("a schema of a library becomes a form, and types and checks its answer", async (t) => {
  const schema = z.object({ age: z.int().min(0) });
  const { peer } = await start(t, {
    ask: {
      handler: async (_, ctx) => {
        const answer = await ctx.elicit("How old?", schema);
        return answer.action === "accept" ? answer.content.age + 1 : 0;
      },
    },
  });
  peer.send(toolCall("c1", "ask", {}));
  const { requests, state } = await asked(peer, "c1");
  const { params } = requests["question-1"] ?? assert.fail();
  const { type, properties, ...others } = params?.["requestedSchema"] as Record<string, any>;
  assert.deepEqual([type, properties.age.type, others], ["object", "integer", { required: ["age"] }]);
  peer.send(again("c2", "ask", state, { "question-1": accept({ age: -1 }) }));
  const second = await asked(peer, "c2");
  peer.send(again("c3", "ask", second.state, { "question-1": accept({ age: 36 }) }));
  assert.deepEqual(((await peer.next())["result"] as any).structuredContent, 37);
});

test("one question after another; what is said meanwhile goes with the call that is served", async (t) => {
  const { peer } = await start(t);
  const context = { progress: true, logLevel: "debug" };
  peer.send(toolCall("c1", "twice", {}, { context, rootId: "root" }));
  const first = await asked(peer, "c1");
  assert.deepEqual(first.requests, { "question-1": { method: "roots/list" } });
  peer.send(again("c2", "twice", first.state, { "question-1": { roots: [{ uri: "file:///a" }] } }, { context }));
  await peer.expect({ type: "progress", id: "c2", progress: 1 });
  await peer.expect({ type: "log", id: "c2", level: "info", data: "between" });
  const second = await asked(peer, "c2");
  assert.deepEqual(second.requests, { "question-2": { method: "sampling/createMessage", params: { messages: [], maxTokens: 9 } } });
  assert.notEqual(second.state, first.state);
  const sampled = { role: "assistant", model: "m", content: { type: "text", text: "hm" } };
  peer.send(again("c3", "twice", second.state, { "question-2": sampled }, { context }));
  const { structuredContent } = (await peer.next())["result"] as Record<string, unknown>;
  assert.deepEqual(structuredContent, ["c1", "c2", "c3", "root", 1, "hm"]);
});

test("questions of one breath go out together, and what is missing or unfit is asked again", async (t) => {
  const { peer } = await start(t, {
    all: {
      handler: async (_, ctx) => {
        const url = ctx.elicitUrl("Go", "https://example.com/", { key: "url" });
        const [form, visit, roots] = await Promise.all([ctx.elicit("Name?", NAME, { key: "form" }), url, ctx.listRoots({ key: "roots" })]);
        return [form, visit, roots];
      },
    },
  });
  peer.send(toolCall("c1", "all", {}));
  const first = await asked(peer, "c1");
  assert.deepEqual(Object.keys(first.requests), ["url", "form", "roots"]);
  assert.deepEqual(first.requests["url"]?.params, { mode: "url", message: "Go", url: "https://example.com/" });

  const form = accept({ name: 7 });
  peer.send(again("c2", "all", first.state, { url: { action: "accept" }, form, roots: [] }));
  const second = await asked(peer, "c2");
  assert.deepEqual(second.requests, { form: first.requests["form"], roots: first.requests["roots"] });

  let { state } = second;
  for (const [id, unfit] of Object.entries({ c3: null, c4: undefined, c5: "text", c6: { form: null, roots: { action: "accept" } } })) {
    peer.send(again(id, "all", state, unfit));
    const next = await asked(peer, id);
    assert.deepEqual(next.requests, second.requests);
    state = next.state;
  }
  peer.send(again("c7", "all", state, { form: { action: "decline" }, roots: { roots: [] } }));
  const { structuredContent } = (await peer.next())["result"] as Record<string, unknown>;
  assert.deepEqual(structuredContent, [{ action: "decline" }, { action: "accept" }, []]);
});

test("an answer that comes before its question is taken, if it fits", async (t) => {
  const { peer } = await start(t);
  const params = (inputResponses: unknown) => ({ params: { inputResponses } });
  peer.send(toolCall("c1", "greet", {}, params({ who: accept({ name: "Ada" }), more: accept({}) })));
  await peer.expect({ type: "result", id: "c1", result: textResult("Hello, Ada") });
  for (const [id, unfit] of Object.entries({ c2: { who: 12345 }, c3: { wrong: accept({ name: "Ada" }) }, c4: null })) {
    peer.send(toolCall(id, "greet", {}, params(unfit)));
    assert.deepEqual(Object.keys((await asked(peer, id)).requests), ["who"]);
  }
});

test("a state opens once, for the same request of the same subject alone", async (t) => {
  const { peer } = await start(t);
  const args = { a: 1, b: { c: [1, 2], d: null } };
  peer.send(toolCall("c1", "greet", args));
  const { state } = await asked(peer, "c1");
  const good = { name: "greet", arguments: args, requestState: state, inputResponses: { who: accept({ name: "Ada" }) } };
  const refused: [what: string, members: CallMembers][] = [
    ["altered", { params: { ...good, requestState: `${state}-TAMPERED` } }],
    ["made up", { params: { ...good, requestState: "run.00000000000000000000000000000000" } }],
    ["of another kind", { params: { ...good, requestState: "anything" } }],
    ["no text", { params: { ...good, requestState: 7 } }],
    ["other arguments", { params: { ...good, arguments: { ...args, a: 2 } } }],
    ["arguments of another shape", { params: { ...good, arguments: { ...args, b: { c: { members: [] }, d: null } } } }],
    ["another tool", { params: { ...good, name: "twice" } }],
    ["another subject", { params: good, context: { subject: "someone else" } }],
    ["no subject", { params: good, context: { subject: undefined } }],
  ];
  for (const [what, members] of refused) {
    peer.send(callOf(what, "tools/call", members));
    await peer.expect({ type: "error", id: what, error: STATE_REFUSED });
  }
  const otherOrder = { b: { d: null, c: [1, 2] }, a: 1 };
  peer.send(callOf("good", "tools/call", { params: { ...good, arguments: otherOrder } }));
  await peer.expect({ type: "result", id: "good", result: textResult("Hello, Ada") });
  peer.send(callOf("again", "tools/call", { params: good }));
  await peer.expect({ type: "error", id: "again", error: STATE_REFUSED });
});

test("prompts and resources ask as well, and nothing else does", async (t) => {
  const ask = async (ctx: CallContext) => {
    const answer = await ctx.elicit("Name?", NAME, { key: "n" });
    return answer.action === "accept" ? answer.content.name : undefined;
  };
  const { peer } = await Harness.online(t, {
    prompts: {
      p: {
        arguments: { x: { complete: async (_value: string, _others: unknown, ctx: CallContext) => [(await ask(ctx)) ?? ""] } },
        handler: async (_, ctx) => (await ask(ctx)) ?? "none",
      },
    },
    resources: { "a:b": { read: async (_, ctx) => ask(ctx) } },
  });
  const answers = { n: accept({ name: "Ada" }) };
  peer.send(callOf("p1", "prompts/get", { params: { name: "p" } }));
  const prompted = await asked(peer, "p1");
  peer.send(callOf("p2", "prompts/get", { params: { name: "p", requestState: prompted.state, inputResponses: answers } }));
  const messages = [{ role: "user", content: { type: "text", text: "Ada" } }];
  await peer.expect({ type: "result", id: "p2", result: { messages } });

  peer.send(callOf("r1", "resources/read", { params: { uri: "a:b" } }));
  const read = await asked(peer, "r1");
  peer.send(callOf("no", "resources/read", { params: { uri: "a:c", requestState: read.state, inputResponses: answers } }));
  await peer.expect({ type: "error", id: "no", error: STATE_REFUSED });
  peer.send(callOf("r2", "resources/read", { params: { uri: "a:b", requestState: read.state, inputResponses: answers } }));
  await peer.expect({ type: "result", id: "r2", result: { contents: [{ uri: "a:b", text: "Ada" }] } });

  const params = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } };
  peer.send(callOf("c1", "completion/complete", { params }));
  await peer.expect({ type: "error", id: "c1", error: { code: -32603, message: "completion/complete cannot ask the agent anything" } });
});

const LACKING: [what: string, capabilities: unknown, ask: (ctx: CallContext) => Promise<unknown>, required: unknown][] = [
  ["a form of one with nothing", {}, (ctx) => ctx.elicit("?", NAME), { elicitation: { form: {} } }],
  ["a form of one with addresses alone", { elicitation: { url: {} } }, (ctx) => ctx.elicit("?", NAME), { elicitation: { form: {} } }],
  ["an address of one with forms", { elicitation: {} }, (ctx) => ctx.elicitUrl("?", "https://a/"), { elicitation: { url: {} } }],
  ["a sample", { elicitation: {} }, (ctx) => ctx.sample({ messages: [], maxTokens: 1 }), { sampling: {} }],
  ["a sample with tools", { sampling: {} }, (ctx) => ctx.sample({ messages: [], maxTokens: 1, tools: [] }), { sampling: { tools: {} } }],
  ["the roots", { sampling: {} }, (ctx) => ctx.listRoots(), { roots: {} }],
];

for (const [what, clientCapabilities, ask, required] of LACKING) {
  test(`an agent that cannot be asked: ${what}`, async (t) => {
    let thrown: unknown;
    const handler = (_: unknown, ctx: CallContext) => ask(ctx).catch((error: unknown) => { thrown = error; throw error; });
    const { h, peer } = await Harness.online(t, { tools: { ask: { handler } }, prompts: { ask: { handler: handler as never } } });
    const message = `the agent that calls did not declare the capability ${JSON.stringify(required)}, so it cannot be asked`;
    peer.send(toolCall("c1", "ask", {}, { context: { clientCapabilities } }));
    const _meta = { "dev.clientmcp/outcome": "missing_capability" };
    await peer.expect({ type: "result", id: "c1", result: { ...textResult(message, true), _meta } });
    assert.ok(thrown instanceof MissingCapability);
    assert.deepEqual(thrown.required, required);
    peer.send(callOf("p1", "prompts/get", { params: { name: "ask" }, context: { clientCapabilities } }));
    await peer.expect({ type: "error", id: "p1", error: { code: -32021, message, data: { requiredCapabilities: required } } });
    peer.send(callOf("p2", "prompts/get", { params: { name: "ask" }, context: { clientCapabilities, protocolVersion: "2025-11-25" } }));
    await peer.expect({ type: "error", id: "p2", error: { code: 42200, message, data: { outcome: "missing_capability" } } });
    assert.deepEqual(h.warnings, []);
  });
}

test("a legacy agent that is sent to an address gets the ID that its revision wants", async (t) => {
  const { peer } = await start(t, { go: { handler: async (_, ctx) => (await ctx.elicitUrl("Go", "https://a/")).action } });
  peer.send(toolCall("c1", "go", {}, { context: { protocolVersion: "2025-11-25" } }));
  const { requests } = await asked(peer, "c1");
  assert.match(String(requests["question-1"]?.params?.["elicitationId"]), /^[0-9a-f]{32}$/);
});

test("a handler that nobody comes back to is given up after ten minutes", async (t) => {
  const thrown: unknown[] = [];
  const { h, peer } = await start(t, {
    ask: { handler: (_, ctx) => ctx.elicit("?", NAME).catch((error: unknown) => (thrown.push(error), Promise.reject(error))) },
  });
  peer.send(toolCall("c1", "ask", {}));
  const { state } = await asked(peer, "c1");
  h.timers.advance(599_999);
  await peer.expectNothing();
  assert.deepEqual(thrown, []);
  h.timers.advance(1);
  await peer.expectNothing();
  assert.deepEqual(thrown.map((error) => (error as CallCancelled).reason), ["timeout"]);
  peer.send(again("c2", "ask", state, { "question-1": { action: "decline" } }));
  await peer.expect({ type: "error", id: "c2", error: STATE_REFUSED });
  assert.deepEqual(h.warnings, []);
});

test("64 handlers may wait; one more is told so, and the others go on", async (t) => {
  const { peer } = await start(t);
  const states: string[] = [];
  for (let i = 0; i < 64; i++) {
    peer.send(toolCall(`c${i}`, "greet", {}));
    states.push((await asked(peer, `c${i}`)).state);
  }
  peer.send(toolCall("full", "greet", {}));
  const text = "64 calls of this application wait for answers, which is as many as may: try again later";
  await peer.expect({ type: "result", id: "full", result: textResult(text, true) });
  peer.send(again("d0", "greet", states[0] ?? "", { who: { action: "decline" } }));
  await peer.expect({ type: "result", id: "d0", result: textResult("No name: decline") });
  peer.send(toolCall("room", "greet", {}));
  await asked(peer, "room");
});

test("close() ends those who wait", async (t) => {
  let context: CallContext | undefined;
  const { h, peer } = await start(t, { ask: { handler: (_, ctx) => ((context = ctx), ctx.elicit("?", NAME)) } });
  peer.send(toolCall("c1", "ask", {}));
  await asked(peer, "c1");
  h.app.close();
  assert.equal((context?.signal.reason as CallCancelled).reason, "closed");
});

test("a cancel of the call that serves ends the handler and its questions", async (t) => {
  let thrown: unknown;
  const { peer } = await start(t, {
    ask: {
      handler: async (_, ctx) => {
        await ctx.listRoots();
        await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await ctx.elicit("?", NAME).catch((error: unknown) => (thrown = error));
      },
    },
  });
  peer.send(toolCall("c1", "ask", {}));
  const { state } = await asked(peer, "c1");
  peer.send(again("c2", "ask", state, { "question-1": { roots: [] } }));
  await peer.expectNothing();
  peer.send({ type: "cancel", id: "c2", reason: "disconnect" });
  await peer.expectNothing();
  assert.ok(thrown instanceof CallCancelled && thrown.reason === "disconnect");
});

test("a handler that ends while nobody is served keeps its result for who comes back", async (t) => {
  let end = (_: string): void => assert.fail();
  const { peer } = await start(t, {
    race: { handler: (_, ctx) => Promise.race([ctx.listRoots(), new Promise((resolve) => (end = resolve))]) },
  });
  peer.send(toolCall("c1", "race", {}));
  const { state } = await asked(peer, "c1");
  end("given up");
  await peer.expectNothing();
  peer.send(again("c2", "race", state, {}));
  await peer.expect({ type: "result", id: "c2", result: textResult("given up") });
});

test("a redelivery of the call that asked is answered with the same questions", async (t) => {
  const { peer } = await start(t);
  peer.send(toolCall("c1", "greet", {}));
  const { state } = await asked(peer, "c1");
  peer.send(toolCall("c1", "greet", {}, { attempt: 1 }));
  assert.equal((await asked(peer, "c1")).state, state);
});

test("two questions cannot have one key", async (t) => {
  const { peer } = await start(t, {
    ask: { handler: (_, ctx) => Promise.all([ctx.listRoots({ key: "a" }), ctx.listRoots({ key: "a" })]) },
  });
  peer.send(toolCall("c1", "ask", {}));
  await peer.expect({ type: "result", id: "c1", result: textResult("two questions have the key a", true) });
});
