/** Schemas of every kind: what agents see of them, what handlers get, and what models read. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { compileSchema, withJsonSchema } from "../src/offer/schema.js";
import type { Schema } from "../src/offer/infer.js";
import type { StandardSchema } from "../src/offer/standard-schema.js";
import { textResult, toolCall } from "./call.js";
import { Harness } from "./harness.js";

const PLAIN = {
  type: "object",
  properties: { color: { type: "string", minLength: 1 }, size: { type: "integer" } },
  required: ["color"],
} as const;

/** The same schema in every way to write it. */
const KINDS: [name: string, schema: Schema][] = [
  ["plain JSON Schema", PLAIN],
  ["zod", z.object({ color: z.string().min(1), size: z.int().optional() })],
  ["valibot", toStandardJsonSchema(v.object({ color: v.pipe(v.string(), v.minLength(1)), size: v.optional(v.pipe(v.number(), v.integer())) }))],
  ["arktype", type({ color: "string > 0", "size?": "number.integer" })],
];

for (const [name, schema] of KINDS) {
  test(`${name}: agents see it, and arguments are checked against it`, async (t) => {
    const got: unknown[] = [];
    const tools = { paint: { inputSchema: schema, handler: (args: unknown) => (got.push(args), "painted") } };
    const h = await Harness.start(t, { tools });
    const peer = await h.server.accept();
    const [definition] = (await peer.next())["tools"] as { inputSchema: Record<string, any> }[];
    const { type: kind, properties, required } = definition?.inputSchema ?? {};
    assert.deepEqual([kind, properties["color"].type, properties["size"].type, required], ["object", "string", "integer", ["color"]]);

    peer.send(toolCall("good", "paint", { color: "red", size: 3 }));
    await peer.expect({ type: "result", id: "good", result: textResult("painted") });
    assert.deepEqual(got, [{ color: "red", size: 3 }]);

    peer.send(toolCall("bad", "paint", { color: 7, size: 1.5 }));
    const { content, isError } = (await peer.next())["result"] as { content: { text: string }[]; isError: boolean };
    assert.equal(isError, true);
    assert.match(content[0]?.text ?? "", /^the arguments do not fit the inputSchema of paint:\n(color.*\n.*size|size.*\n.*color)/s);
    assert.equal(got.length, 1, "the handler did not run");
  });
}

test("a handler gets what the schema's library made of the arguments", async (t) => {
  const inputSchema = z.object({ day: z.string().transform((text) => text.length), tag: z.string().default("none") });
  const tools = { note: { inputSchema, handler: ({ day, tag }: { day: number; tag: string }) => `${day} ${tag}` } };
  const { peer } = await Harness.online(t, { tools });
  peer.send(toolCall("c1", "note", { day: "monday" }));
  await peer.expect({ type: "result", id: "c1", result: textResult("6 none") });
});

test("problems of plain JSON Schema name the place, and not those that hold it", async () => {
  const schema = {
    type: "object",
    properties: { list: { type: "array", items: { anyOf: [{ type: "string" }, { type: "number" }] } }, "a/b": { $ref: "#/$defs/small" } },
    required: ["must"],
    $defs: { small: { maximum: 3 } },
  };
  const { problems = "" } = await compileSchema(schema, "input", "it").check({ list: ["a", null], "a/b": 4 });
  assert.deepEqual(problems.split("\n").sort(), [
    "Instance does not have required property \"must\".",
    "a/b: 4 is greater than 3.",
    'list.1: Instance type "null" is invalid. Expected "number".',
    'list.1: Instance type "null" is invalid. Expected "string".',
  ]);
});

test("of many problems the first are told", async () => {
  const schema = { type: "array", items: { type: "string" } };
  const { problems = "" } = await compileSchema(schema, "input", "it").check(Array(20).fill(1));
  const lines = problems.split("\n");
  assert.equal(lines.length, 9);
  assert.equal(lines.at(-1), "and more");
  const started = performance.now();
  await compileSchema(schema, "input", "it").check(Array(100_000).fill(1));
  assert.ok(performance.now() - started < 5_000, "a problem for each entry takes no quadratic time");
});

test("the draft is the schema's own, 2020-12 by default", async () => {
  const tuple = { type: "array", items: [{ type: "string" }] };
  const draft7 = compileSchema({ $schema: "http://json-schema.org/draft-07/schema#", ...tuple }, "input", "it");
  assert.notEqual((await draft7.check([1])).problems, undefined);
  const current = compileSchema({ type: "array", prefixItems: [{ type: "string" }] }, "input", "it");
  assert.notEqual((await current.check([1])).problems, undefined);
});

test("a schema of a library that cannot tell its JSON Schema is refused with what to pass", () => {
  const mute = (vendor: string): StandardSchema => ({ "~standard": { version: 1, vendor, validate: (value) => ({ value }) } });
  assert.throws(() => compileSchema(mute("other"), "input", "the inputSchema of the tool x"), {
    name: "TypeError",
    message: "the inputSchema of the tool x is a other schema that cannot tell its JSON Schema: pass withJsonSchema(schema, itsJsonSchema) instead",
  });
  assert.throws(() => compileSchema(v.string(), "input", "x"), /pass toStandardJsonSchema\(schema\) of @valibot\/to-json-schema instead$/);
  assert.throws(() => compileSchema(z.object({ a: z.date() }), "input", "x"), /^TypeError: x cannot be written as JSON Schema: .*Date/);
  for (const wrong of [undefined, null, 7, "object", []]) {
    assert.throws(() => compileSchema(wrong as never, "input", "x"), /^TypeError: x must be a JSON Schema or a Standard Schema/);
  }
});

test("withJsonSchema gives such a schema its JSON Schema", async () => {
  const schema = withJsonSchema(v.object({ color: v.string() }), PLAIN);
  const compiled = compileSchema(schema, "input", "it");
  assert.equal(compiled.json, PLAIN);
  assert.match((await compiled.check({ color: 7 })).problems ?? "", /^color: /);
});

test("a JSON Schema that no validator can use is told to developer and model", async (t) => {
  const tools = { broken: { inputSchema: { type: "object", $ref: "#/nowhere" }, handler: () => "ran" } };
  const { h, peer } = await Harness.online(t, { tools });
  peer.send(toolCall("c1", "broken", {}));
  const { content, isError } = (await peer.next())["result"] as { content: { text: string }[]; isError: boolean };
  assert.equal(isError, true);
  assert.match(content[0]?.text ?? "", /^the inputSchema of the tool broken is no JSON Schema that can be used: .*nowhere/s);
  assert.match(h.warnings.join(), /a call of broken failed/);
});

test("a result is checked against the outputSchema", async (t) => {
  const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const answers: Record<string, unknown> = {
    good: { n: 1 },
    bad: { n: "1" },
    failed: { content: [{ type: "text", text: "no" }], structuredContent: { n: "1" }, isError: true },
    text: { content: [{ type: "text", text: "only a text" }] },
  };
  const tools = { count: { outputSchema, handler: ({ which }: { which: string }) => answers[which] } };
  const { h, peer } = await Harness.online(t, { tools });
  const ask = async (which: string): Promise<Record<string, unknown>> => {
    peer.send(toolCall(which, "count", { which }));
    return (await peer.next())["result"] as Record<string, unknown>;
  };
  assert.deepEqual(await ask("good"), { ...textResult('{"n":1}'), structuredContent: { n: 1 } });
  assert.deepEqual(await ask("failed"), answers["failed"]);
  assert.deepEqual(await ask("text"), answers["text"]);
  assert.deepEqual(h.warnings, []);
  const text = 'the tool\'s result does not fit its outputSchema:\nn: Instance type "string" is invalid. Expected "number".';
  assert.deepEqual(await ask("bad"), textResult(text, true));
  assert.equal(h.warnings.length, 1);
});

test("a tool that cannot work is refused at once", async (t) => {
  const { h } = await Harness.online(t);
  assert.throws(() => h.app.setTools({ a: {} } as never), /^TypeError: the tool a has no handler$/);
  assert.throws(() => h.app.setTools({ a: { task: "always", handler: () => 1 } } as never), /the task of the tool a must be never, optional or required/);
  assert.throws(() => h.app.setTools({ a: { inputSchema: 7, handler: () => 1 } } as never), /the inputSchema of the tool a must be/);
});
