/** Handlers that return their questions and are run anew with the answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallContext } from "../src/context.js";
import { elicitRequest, elicitUrlRequest, listRootsRequest, sampleRequest } from "../src/rounds/asks.js";
import { inputRequired } from "../src/rounds/input-required.js";
import { Seal } from "../src/rounds/seal.js";
import { callOf, textResult, toolCall, type CallMembers } from "./call.js";
import { FakeTimers } from "./fake-timers.js";
import { Harness } from "./harness.js";

const NAME = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const STATE_REFUSED = {
  code: -32602,
  message: "requestState is not what this application gave for this request, or has expired: call again without it",
};

/** Counts its rounds in the state. */
const count = (_: unknown, { state = { round: 0 }, inputResponses }: CallContext) => {
  if (state.round === 2) return `${state.round} ${JSON.stringify(inputResponses)}`;
  return inputRequired({ requests: { name: elicitRequest("Name?", NAME) }, state: { round: state.round + 1, secret: "hush" } });
};

test("the state comes back as it was given, and no agent can read it", async (t) => {
  const { peer } = await Harness.online(t, { tools: { count: { handler: count } } });
  peer.send(toolCall("c1", "count", {}));
  const first = (await peer.next())["result"] as Record<string, string>;
  const { requestState, ...others } = first;
  const params = { mode: "form", message: "Name?", requestedSchema: NAME };
  assert.deepEqual(others, { resultType: "input_required", inputRequests: { name: { method: "elicitation/create", params } } });
  assert.doesNotMatch(Buffer.from(requestState ?? "", "base64url").toString("latin1"), /hush|round/);
  assert.match(requestState ?? "", /^sealed\.[\w-]+$/);

  peer.send(toolCall("c2", "count", {}, { params: { requestState, inputResponses: {} } }));
  const second = (await peer.next())["result"] as Record<string, string>;
  assert.notEqual(second["requestState"], requestState);
  const inputResponses = { name: { action: "decline" } };
  peer.send(toolCall("c3", "count", {}, { params: { requestState: second["requestState"], inputResponses } }));
  await peer.expect({ type: "result", id: "c3", result: textResult(`2 ${JSON.stringify(inputResponses)}`) });
});

test("a state that was altered, is foreign or too old is refused, and nothing runs", async (t) => {
  let runs = 0;
  const handler = (_: unknown, { state }: CallContext) => (runs++, inputRequired({ state: (state ?? 0) + 1 }));
  const tools = { count: { handler }, other: { handler } };
  const limits = { pingIntervalMs: 1e9, silenceTimeoutMs: 1e9 };
  const { h, peer } = await Harness.online(t, { tools }, { limits });
  const elsewhere = await Harness.online(t, { tools });
  const stateOf = async (from: typeof peer): Promise<string> => {
    from.send(toolCall("c1", "count", { a: 1 }));
    return String(((await from.next())["result"] as Record<string, unknown>)["requestState"]);
  };
  const [state, foreign] = [await stateOf(peer), await stateOf(elsewhere.peer)];
  const flipped = (at: number) => state.slice(0, at) + (state[at] === "A" ? "B" : "A") + state.slice(at + 1);
  const refused: [what: string, name: string, args: unknown, requestState: unknown, context?: CallMembers["context"]][] = [
    ["appended", "count", { a: 1 }, `${state}-TAMPERED`],
    ["a letter of the nonce", "count", { a: 1 }, flipped(8)],
    ["a letter of the rest", "count", { a: 1 }, flipped(state.length - 5)],
    ["cut", "count", { a: 1 }, state.slice(0, -4)],
    ["nothing", "count", { a: 1 }, ""],
    ["null", "count", { a: 1 }, null],
    ["another instance", "count", { a: 1 }, foreign],
    ["another tool", "other", { a: 1 }, state],
    ["other arguments", "count", { a: 2 }, state],
    ["another subject", "count", { a: 1 }, state, { subject: "someone else" }],
  ];
  const before = runs;
  for (const [what, name, args, requestState, context = {}] of refused) {
    peer.send(toolCall(what, name, args, { params: { requestState }, context }));
    await peer.expect({ type: "error", id: what, error: STATE_REFUSED });
  }
  assert.equal(runs, before);
  h.timers.advance(599_999);
  peer.send(toolCall("in time", "count", { a: 1 }, { params: { requestState: state } }));
  assert.equal(((await peer.next())["result"] as Record<string, unknown>)["resultType"], "input_required");
  h.timers.advance(1);
  peer.send(toolCall("late", "count", { a: 1 }, { params: { requestState: state } }));
  await peer.expect({ type: "error", id: "late", error: STATE_REFUSED });
});

test("a state is sealed for a request of any kind that may ask", async (t) => {
  const handler = (_: unknown, { state }: CallContext) => (state === undefined ? inputRequired({ state: "s" }) : `state ${state}`);
  const { peer } = await Harness.online(t, { prompts: { p: { handler } }, resources: { "a:1": { read: handler } } });
  for (const [method, params, result] of [
    ["prompts/get", { name: "p" }, { messages: [{ role: "user", content: { type: "text", text: "state s" } }] }],
    ["resources/read", { uri: "a:1" }, { contents: [{ uri: "a:1", text: "state s" }] }],
  ] as const) {
    peer.send(callOf(`${method} 1`, method, { params }));
    const { requestState } = (await peer.next())["result"] as Record<string, unknown>;
    const id = `${method} 2`;
    peer.send(callOf(id, method, { params: { ...params, requestState } }));
    await peer.expect({ type: "result", id, result });
  }
});

test("questions without a state need no seal, and only those that the agent can be asked go out", async (t) => {
  const requests = {
    form: elicitRequest("?", NAME),
    url: elicitUrlRequest("?", "https://a/"),
    sample: sampleRequest({ messages: [], maxTokens: 1 }),
    roots: listRootsRequest(),
  };
  const { peer } = await Harness.online(t, { tools: { ask: { handler: () => inputRequired({ requests }) } } });
  peer.send(toolCall("c1", "ask", {}));
  await peer.expect({ type: "result", id: "c1", result: { resultType: "input_required", inputRequests: requests } });
  peer.send(toolCall("c2", "ask", {}, { context: { clientCapabilities: { elicitation: {}, sampling: {} } } }));
  const { isError, _meta } = (await peer.next())["result"] as Record<string, unknown>;
  assert.deepEqual([isError, _meta], [true, { "dev.clientmcp/outcome": "missing_capability" }]);
});

test("inputRequired wants something to say", () => {
  assert.throws(() => inputRequired({}), TypeError);
  assert.throws(() => inputRequired({ requests: {} }), TypeError);
  assert.ok(inputRequired({ state: null }));
});

test("without cryptography, sealing says what to do instead", async () => {
  const { subtle } = crypto;
  Object.defineProperty(crypto, "subtle", { value: undefined, configurable: true });
  try {
    await assert.rejects(new Seal(new FakeTimers()).close(1, "x"), /needs a secure context .*; ctx\.elicit, .* work everywhere$/);
  } finally {
    Object.defineProperty(crypto, "subtle", { value: subtle, configurable: true });
  }
});
