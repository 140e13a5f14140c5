import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallContext } from "../src/context.js";
import { RpcError, ToolError } from "../src/errors.js";
import { prompt } from "../src/offer/prompts.js";
import { callOf } from "./call.js";
import { Harness, registered } from "./harness.js";

const user = (text: string) => ({ role: "user" as const, content: { type: "text", text } });

const review = prompt({
  title: "Review",
  description: "Reviews a text",
  icons: [{ src: "data:image/png;base64,AA==" }],
  "x-vendor": 1,
  arguments: {
    text: { description: "What to review", required: true },
    style: { title: "Style", complete: ["strict", "kind"] },
  },
  handler: ({ text, style = "plain" }, { subject }) => `Review for ${subject}, ${style}: ${text}`,
});

test("prompts are registered, their order and arguments with them", async (t) => {
  const h = await Harness.start(t, { prompts: { review, simple: { handler: () => "Hi" } } });
  const peer = await h.server.accept();
  const { prompts, completions, toolOptions } = await peer.next();
  assert.deepEqual(prompts, [
    {
      name: "review",
      title: "Review",
      description: "Reviews a text",
      icons: [{ src: "data:image/png;base64,AA==" }],
      "x-vendor": 1,
      arguments: [
        { name: "text", description: "What to review", required: true },
        { name: "style", title: "Style" },
      ],
    },
    { name: "simple" },
  ]);
  assert.deepEqual([completions, toolOptions], [true, undefined]);
  peer.send(registered());
  await h.status("online");

  h.app.setPrompts({ simple: { handler: () => "Hello" } });
  const second = await peer.next();
  assert.deepEqual([second["prompts"], second["tools"], "completions" in second], [[{ name: "simple" }], { hash: "T1" }, false]);
});

test("a prompt's text becomes a message, messages and whole results stay what they are", async (t) => {
  const whole = { description: "d", messages: [user("a")], _meta: { x: 1 } };
  const { peer } = await Harness.online(t, {
    prompts: { review, list: { handler: () => [user("a"), user("b")] }, whole: { handler: async () => whole } },
  });
  const cases: [params: Record<string, unknown>, result: unknown][] = [
    [{ name: "review", arguments: { text: "T" } }, { messages: [user("Review for someone, plain: T")] }],
    [{ name: "review", arguments: { text: "T", style: "strict", more: "x" } }, { messages: [user("Review for someone, strict: T")] }],
    [{ name: "list" }, { messages: [user("a"), user("b")] }],
    [{ name: "whole", arguments: {} }, whole],
  ];
  for (const [i, [params, result]] of cases.entries()) {
    peer.send(callOf(`c${i}`, "prompts/get", { params }));
    await peer.expect({ type: "result", id: `c${i}`, result });
  }
});

test("prompts that cannot be had are JSON-RPC errors", async (t) => {
  const failing = (error: unknown) => ({ handler: () => Promise.reject(error) });
  const { h, peer } = await Harness.online(t, {
    prompts: {
      review,
      broken: failing(new Error("no database")),
      told: failing(new ToolError("ask the owner")),
      rpc: failing(new RpcError(7, "seven", { a: 1 })),
      nothing: { handler: (() => undefined) as never },
      big: { handler: () => "x".repeat(5_000_000) },
    },
  });
  const cases: [params: Record<string, unknown>, code: number, message: RegExp][] = [
    [{ name: "toString" }, -32602, /^Unknown prompt: toString$/],
    [{}, -32602, /^Unknown prompt: undefined$/],
    [{ name: "review" }, -32602, /^the prompt review: the argument text is missing$/],
    [{ name: "review", arguments: { text: 7 } }, -32602, /^the prompt review: the argument text must be a text$/],
    [{ name: "review", arguments: ["T"] }, -32602, /^the prompt review: arguments must be an object$/],
    [{ name: "broken" }, -32603, /^no database$/],
    [{ name: "told" }, -32603, /^ask the owner$/],
    [{ name: "rpc" }, 7, /^seven$/],
    [{ name: "nothing" }, -32603, /^a handler of prompts\/get returned undefined$/],
    [{ name: "big" }, -32603, /at most 4194304 bytes/],
  ];
  for (const [i, [params, code, message]] of cases.entries()) {
    peer.send(callOf(`c${i}`, "prompts/get", { params }));
    const { type, id, error } = (await peer.next()) as { type: string; id: string; error: { code: number; message: string } };
    assert.deepEqual([type, id, error.code], ["error", `c${i}`, code]);
    assert.match(error.message, message);
  }
  assert.deepEqual(h.warnings.map((warning) => warning.split(" failed")[0]), [
    "clientmcp: a call of broken",
    "clientmcp: a call of nothing",
  ]);
  assert.throws(() => h.app.setPrompts({ a: {} } as never), /^TypeError: the prompt a has no handler$/);
});

test("arguments are completed from a list, or by a function that knows the others", async (t) => {
  let context: CallContext | undefined;
  const { peer } = await Harness.online(t, {
    prompts: {
      review,
      city: {
        arguments: {
          country: { complete: Array.from({ length: 150 }, (_, i) => `c${i}`) },
          city: {
            complete: async (value: string, { country = "?" }: Record<string, string>, given: CallContext) => {
              context = given;
              return { values: [`${value} in ${country}`], total: 7, hasMore: true };
            },
          },
          street: {},
        },
        handler: () => "",
      },
    },
  });
  let calls = 0;
  const complete = async (name: string, argument: unknown, others?: unknown): Promise<unknown> => {
    const params = { ref: { type: "ref/prompt", name }, argument, ...(others !== undefined && { context: { arguments: others } }) };
    peer.send(callOf(`c${++calls}`, "completion/complete", { params }));
    const { result, error } = await peer.next();
    return error ?? (result as { completion: unknown }).completion;
  };
  assert.deepEqual(await complete("review", { name: "style", value: "ST" }), { values: ["strict"], total: 1, hasMore: false });
  assert.deepEqual(await complete("review", { name: "style", value: "" }), { values: ["strict", "kind"], total: 2, hasMore: false });
  for (const name of ["text", "unheard of", "toString"]) {
    assert.deepEqual(await complete("review", { name, value: "" }), { values: [], total: 0, hasMore: false });
  }
  const many = (await complete("city", { name: "country", value: "c" })) as { values: string[]; total: number; hasMore: boolean };
  assert.deepEqual([many.values.length, many.total, many.hasMore], [100, 150, true]);
  const city = await complete("city", { name: "city", value: "P" }, { country: "France" });
  assert.deepEqual(city, { values: ["P in France"], total: 7, hasMore: true });
  assert.equal(context?.subject, "someone");
  assert.deepEqual(await complete("other", { name: "a", value: "" }), { code: -32602, message: "Unknown prompt: other" });
  assert.deepEqual(await complete("review", { name: "style" }), {
    code: -32602,
    message: "argument must have a name and a value, both texts",
  });
});
