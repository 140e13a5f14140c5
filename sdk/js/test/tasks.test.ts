import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallContext } from "../src/context.js";
import { textResult, toolCall } from "./call.js";
import { Harness, registered } from "./harness.js";

test("a tool says whether its calls may become tasks", async (t) => {
  const handler = () => "ok";
  const h = await Harness.start(t, { tools: { a: { handler, task: "optional" }, b: { handler, task: "required" }, c: { handler, task: "never" } } });
  const peer = await h.server.accept();
  const { tools, toolOptions } = await peer.next();
  assert.deepEqual(toolOptions, { a: { task: "optional" }, b: { task: "required" }, c: { task: "never" } });
  assert.ok((tools as object[]).every((tool) => !("task" in tool)));
});

test("a call becomes a task where that is allowed, and says so again on the next connection", async (t) => {
  let context: CallContext | undefined;
  let end = (_: string): void => assert.fail();
  const became: boolean[] = [];
  const tools = {
    build: {
      handler: (_: unknown, given: CallContext) => {
        context = given;
        became.push(given.becomeTask({ ttlMs: 60_000, pollIntervalMs: 500, statusMessage: "started" }));
        return new Promise<string>((resolve) => (end = resolve));
      },
    },
  };
  const { h, peer } = await Harness.online(t, { tools });
  peer.send(toolCall("plain", "build", {}));
  await peer.expectNothing();
  assert.equal(context?.tasks, false);
  end("done");
  await peer.expect({ type: "result", id: "plain", result: textResult("done") });

  peer.send(toolCall("c1", "build", {}, { context: { tasks: true } }));
  const task = { type: "task", id: "c1", ttlMs: 60_000, pollIntervalMs: 500 };
  await peer.expect({ ...task, statusMessage: "started" });
  assert.deepEqual([became, context?.tasks], [[false, true], true]);
  assert.equal(context?.becomeTask({ statusMessage: "half way" }), true);
  await peer.expect({ type: "task", id: "c1", statusMessage: "half way" });

  peer.cut();
  await h.retry();
  const second = await h.server.accept();
  await second.next();
  second.send(registered());
  second.send(toolCall("c1", "build", {}, { attempt: 1, context: { tasks: true } }));
  await second.expect({ type: "task", id: "c1", statusMessage: "half way" });
  end("built");
  await second.expect({ type: "result", id: "c1", result: textResult("built") });
  assert.equal(context?.becomeTask(), true);
  await second.expectNothing();
});
