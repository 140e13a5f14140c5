import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceNotFound } from "../src/errors.js";
import type { ResourceDefinition } from "../src/offer/resources.js";
import { callOf } from "./call.js";
import { Harness, registered } from "./harness.js";

const read = () => "text";

test("resources and templates are registered as one kind", async (t) => {
  const h = await Harness.start(t, {
    resources: { "a:1": { name: "one", mimeType: "text/plain", size: 4, annotations: { priority: 1 }, read }, "a:2": { read } },
    resourceTemplates: { "b:{x}": { title: "B", complete: { x: ["y"] }, read }, "c:{x}": { name: "c", read } },
  });
  const peer = await h.server.accept();
  const { resources, resourceTemplates, completions } = await peer.next();
  assert.deepEqual(resources, [
    { uri: "a:1", name: "one", mimeType: "text/plain", size: 4, annotations: { priority: 1 } },
    { uri: "a:2", name: "a:2" },
  ]);
  assert.deepEqual(resourceTemplates, [
    { uriTemplate: "b:{x}", name: "b:{x}", title: "B" },
    { uriTemplate: "c:{x}", name: "c" },
  ]);
  assert.equal(completions, true);
  peer.send(registered({ hashes: { tools: "T1", resources: "R1", rest: "X1" } }));
  await h.status("online");

  h.app.setTools({ a: { handler: () => "ok" } });
  assert.deepEqual((await peer.next())["resources"], { hash: "R1" });
  peer.send(registered({ hashes: { tools: "T2", resources: "R1", rest: "X1" } }));
  await peer.expectNothing();
  h.app.setResourceTemplates({ "c:{x}": { name: "c", read } });
  const second = await peer.next();
  assert.deepEqual([second["resources"], second["resourceTemplates"]], [resources, [{ uriTemplate: "c:{x}", name: "c" }]]);
  peer.send(registered({ hashes: { tools: "T2", resources: "R2", rest: "X2" } }));
  await peer.expectNothing();
  h.app.setResources({});
  const third = await peer.next();
  assert.deepEqual([third["resources"], third["resourceTemplates"]], [undefined, [{ uriTemplate: "c:{x}", name: "c" }]]);
});

test("what was read is told in MCP's form", async (t) => {
  const bytes = Uint8Array.of(0, 255, 16);
  const blob = "AP8Q";
  const values: Record<string, [read: unknown, contents: unknown]> = {
    "t:text": ["text", [{ uri: "t:text", mimeType: "x/y", text: "text" }]],
    "t:empty": ["", [{ uri: "t:empty", mimeType: "x/y", text: "" }]],
    "t:bytes": [bytes, [{ uri: "t:bytes", mimeType: "x/y", blob }]],
    "t:part": [new Uint8Array([9, ...bytes, 9]).subarray(1, 4), [{ uri: "t:part", mimeType: "x/y", blob }]],
    "t:buffer": [bytes.buffer, [{ uri: "t:buffer", mimeType: "x/y", blob }]],
    "t:large": [new Uint8Array(100_000), [{ uri: "t:large", mimeType: "x/y", blob: Buffer.alloc(100_000).toString("base64") }]],
    "t:content": [{ text: "a", mimeType: "a/b" }, [{ uri: "t:content", mimeType: "a/b", text: "a" }]],
    "t:list": [["a", { uri: "t:other", blob }], [{ uri: "t:list", mimeType: "x/y", text: "a" }, { uri: "t:other", mimeType: "x/y", blob }]],
  };
  const resources = Object.fromEntries(Object.entries(values).map(([uri, [value]]) => [uri, { mimeType: "x/y", read: () => value as string }]));
  const whole = { contents: [{ uri: "z:1", text: "z" }], ttlMs: 5 };
  const { peer } = await Harness.online(t, {
    resources: {
      ...resources,
      "u:blob": { read: async () => new Blob([bytes], { type: "image/png" }) },
      "u:whole": { read: () => whole },
      "u:wrong": { read: (() => 7) as never },
    },
  });
  for (const [uri, [, contents]] of Object.entries(values)) {
    peer.send(callOf(uri, "resources/read", { params: { uri } }));
    await peer.expect({ type: "result", id: uri, result: { contents } });
  }
  peer.send(callOf("b", "resources/read", { params: { uri: "u:blob" } }));
  await peer.expect({ type: "result", id: "b", result: { contents: [{ uri: "u:blob", mimeType: "image/png", blob }] } });
  peer.send(callOf("w", "resources/read", { params: { uri: "u:whole" } }));
  await peer.expect({ type: "result", id: "w", result: whole });
  peer.send(callOf("x", "resources/read", { params: { uri: "u:wrong" } }));
  const message = "a resource was read as a number that is neither a text, bytes nor a content";
  await peer.expect({ type: "error", id: "x", error: { code: -32603, message } });
});

test("what is not there is said in the agent's revision", async (t) => {
  const { h, peer } = await Harness.online(t, {
    resources: { "a:null": { read: () => null }, "a:thrown": { read: () => Promise.reject(new ResourceNotFound("a:inner")) } },
    resourceTemplates: { "b:{x}": { read: () => undefined } },
  });
  for (const [protocolVersion, code] of [["2026-07-28", -32602], ["2025-11-25", -32002]] as const) {
    for (const [uri, named] of [["a:null", "a:null"], ["a:thrown", "a:inner"], ["b:1", "b:1"], ["c:1", "c:1"]] as const) {
      const id = `${uri} ${protocolVersion}`;
      peer.send(callOf(id, "resources/read", { params: { uri }, context: { protocolVersion } }));
      await peer.expect({ type: "error", id, error: { code, message: `Resource not found: ${named}`, data: { uri: named } } });
    }
  }
  assert.deepEqual(h.warnings, []);
});

test("a URI is read by its own entry, else by the first template that fits, else as a dynamic one", async (t) => {
  const { h, peer } = await Harness.online(t, {
    resources: { "a:fixed": { read: (uri) => `fixed ${uri}` } },
    resourceTemplates: {
      "a:{x}": { read: (uri, variables) => `template ${uri} ${JSON.stringify(variables)}` },
      "a:{+x}": { read: () => "never first" },
    },
  });
  let calls = 0;
  const readText = async (uri: string): Promise<unknown> => {
    peer.send(callOf(`c${++calls}`, "resources/read", { params: { uri } }));
    const { result } = (await peer.next()) as { result?: { contents: { text: string }[] } };
    return result?.contents[0]?.text;
  };
  assert.equal(await readText("a:fixed"), "fixed a:fixed");
  assert.equal(await readText("a:caf%C3%A9"), 'template a:caf%C3%A9 {"x":"café"}');
  assert.equal(await readText("a:1/2"), "never first");
  assert.equal(await readText("toString"), undefined);
  h.app.setResources({ list: () => [], read: (uri) => `dynamic ${uri}` });
  assert.equal((await peer.next())["resources"], "dynamic");
  assert.equal(await readText("a:fixed"), 'template a:fixed {"x":"fixed"}');
  assert.equal(await readText("z:1"), "dynamic z:1");
});

test("a dynamic list is asked for each time, page by page", async (t) => {
  const pages: Record<string, ResourceDefinition[]> = { first: [{ uri: "a:1", name: "1" }], next: [{ uri: "a:2", name: "2", title: "Two" }] };
  const h = await Harness.start(t, {
    resources: {
      list: (context, cursor = "first") => {
        assert.equal(context.subject, "someone");
        return cursor === "first" ? { resources: pages["first"] ?? [], nextCursor: "next" } : (pages[cursor] ?? []);
      },
      read: (uri) => uri,
    },
    resourceTemplates: {
      "b:{x}": { list: async () => [{ uri: "b:1", name: "b1" }], read },
      "c:{x}": { read },
    },
  });
  const peer = await h.server.accept();
  const register = await peer.next();
  assert.equal(register["resources"], "dynamic");
  assert.equal((register["resourceTemplates"] as unknown[]).length, 2);
  peer.send(registered());
  await h.status("online");
  peer.send(callOf("l1", "resources/list"));
  const resources = [{ uri: "b:1", name: "b1" }, { uri: "a:1", name: "1" }];
  await peer.expect({ type: "result", id: "l1", result: { resources, nextCursor: "next" } });
  peer.send(callOf("l2", "resources/list", { params: { cursor: "next" } }));
  await peer.expect({ type: "result", id: "l2", result: { resources: pages["next"] } });
});

test("a template that lists makes fixed resources part of a list that is asked for", async (t) => {
  const h = await Harness.start(t, {
    resources: { "a:1": { name: "one", read } },
    resourceTemplates: { "b:{x}": { list: () => [{ uri: "b:1", name: "b1" }], read } },
  });
  const peer = await h.server.accept();
  assert.equal((await peer.next())["resources"], "dynamic");
  peer.send(registered());
  await h.status("online");
  peer.send(callOf("l1", "resources/list"));
  const resources = [{ name: "one", uri: "a:1" }, { uri: "b:1", name: "b1" }];
  await peer.expect({ type: "result", id: "l1", result: { resources } });
});

test("a template's variables are completed", async (t) => {
  const { peer } = await Harness.online(t, {
    resourceTemplates: { "a:{x}/{y}": { complete: { x: ["one", "two"], y: (value, { x }) => [`${value}${x}`] }, read } },
  });
  let calls = 0;
  const complete = async (uri: string, name: string, value: string): Promise<unknown> => {
    const params = { ref: { type: "ref/resource", uri }, argument: { name, value }, context: { arguments: { x: "one" } } };
    peer.send(callOf(`c${++calls}`, "completion/complete", { params }));
    const { result, error } = await peer.next();
    return error ?? (result as { completion: { values: string[] } }).completion.values;
  };
  assert.deepEqual(await complete("a:{x}/{y}", "x", "t"), ["two"]);
  assert.deepEqual(await complete("a:{x}/{y}", "y", "t"), ["tone"]);
  assert.deepEqual(await complete("a:{x}/{y}", "toString", "t"), []);
  assert.deepEqual(await complete("a:{z}", "z", ""), { code: -32602, message: "Unknown resource template: a:{z}" });
  peer.send(callOf("c", "completion/complete", { params: { ref: { type: "other" }, argument: { name: "x", value: "" } } }));
  const message = "ref must be of the type ref/prompt or ref/resource";
  await peer.expect({ type: "error", id: "c", error: { code: -32602, message } });
});

test("resources that cannot be read are refused at once", async (t) => {
  const { h } = await Harness.online(t);
  assert.throws(() => h.app.setResources({ "a:1": {} } as never), /^TypeError: the resource a:1 has no read$/);
  assert.throws(() => h.app.setResourceTemplates({ "a:{x}": {} } as never), /^TypeError: the resource template a:\{x\} has no read$/);
  assert.throws(() => h.app.setResourceTemplates({ "a:{x*}": { read } } as never), /^TypeError: the URI template a:\{x\*\} cannot be matched/);
});

test("updates go out on the connection in use, and watched URIs come in from it", async (t) => {
  const { h, peer } = await Harness.online(t);
  const seen: (readonly string[])[] = [];
  h.app.on("subscriptions", (uris) => seen.push(uris));
  peer.send({ type: "subscriptions", uris: ["a:1", "a:2"] });
  await peer.expectNothing();
  h.app.resourceUpdated("a:1");
  await peer.expect({ type: "notify", method: "notifications/resources/updated", params: { uri: "a:1" } });
  assert.deepEqual([seen, h.app.subscriptions], [[["a:1", "a:2"]], ["a:1", "a:2"]]);

  peer.send({ type: "move", withinMs: 0 });
  await peer.expectNothing();
  h.timers.advance(0);
  const second = await h.server.accept();
  await second.next();
  second.send(registered());
  second.send({ type: "subscriptions", uris: ["a:3"] });
  await second.expectNothing();
  peer.send({ type: "subscriptions", uris: [] });
  await peer.expectNothing();
  h.app.resourceUpdated("a:3");
  await second.expect({ type: "notify", method: "notifications/resources/updated", params: { uri: "a:3" } });
  await peer.expectNothing();
  assert.deepEqual(h.app.subscriptions, ["a:3"]);
  second.cut();
  await h.status("offline");
  h.app.resourceUpdated("a:3");
});
