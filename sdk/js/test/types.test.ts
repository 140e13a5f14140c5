/** What the compiler knows of handlers; a wrong inference fails the build of this file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type } from "arktype";
import { z } from "zod";
import { connect, inputRequired, prompt, tool, type StandardSchema } from "../src/index.js";
import { TestWebSocket } from "./harness.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles only if the types are the same. */
const same = <A, B>(_: Equal<A, B>): void => {};

const options = { url: "ws://127.0.0.1:9", token: "t", serverInfo: { name: "t", version: "1" }, logger: null };
/** Type-checked, never called. */
export const unused = (): unknown =>
  connect({
    ...options,
    tools: {
      zod: {
        inputSchema: z.object({ color: z.string(), size: z.number().optional() }),
        handler: (args) => same<typeof args, { color: string; size?: number | undefined }>(true),
      },
      arktype: { inputSchema: type({ s: "string" }), handler: (args) => same<typeof args, { s: string }>(true) },
      json: {
        inputSchema: {
          type: "object",
          properties: { k: { type: "number" }, e: { enum: ["a", "b"] }, l: { type: "array", items: { type: "string" } } },
          required: ["k"],
        },
        handler: (args, context) => {
          same<typeof args, { k: number; e?: "a" | "b"; l?: string[] }>(true);
          context.progress(args.k);
        },
      },
      none: { handler: (args, { signal }) => `${args.anything} ${signal.aborted}` },
      asks: {
        task: "optional",
        handler: async (_, ctx) => {
          const answer = await ctx.elicit("?", { type: "object", properties: { name: { type: "string" } }, required: ["name"] });
          if (answer.action !== "accept") return inputRequired({ state: 1 });
          same<typeof answer.content, { name: string }>(true);
          return answer.content.name;
        },
      },
    },
    prompts: {
      p: {
        arguments: { text: { required: true }, style: { complete: ["a"] } },
        handler: (args) => (same<typeof args, { text: string; style?: string }>(true), args.text),
      },
    },
    resources: { "a:b": { read: (uri) => uri } },
    resourceTemplates: {
      "notes://{name}{?q,page}": {
        complete: { name: (value, others) => [value, ...Object.values(others)] },
        read: (_, variables) => {
          same<typeof variables, { name: string; q?: string; page?: string }>(true);
          return variables.name;
        },
      },
    },
  });

export const alone = [
  tool({ inputSchema: z.object({ a: z.string() }), outputSchema: z.object({ n: z.number() }), handler: ({ a }) => ({ n: a.length }) }),
  // @ts-expect-error the result does not fit the outputSchema
  tool({ outputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] }, handler: () => ({ n: "1" }) }),
  // @ts-expect-error the argument has another type
  tool({ inputSchema: z.object({ a: z.string() }), handler: ({ a }) => a.toFixed() }),
];

test("tools and prompts that stand by themselves fit into options", () => {
  const own: StandardSchema<{ a: string }, { a: string }> = z.object({ a: z.string() });
  const stands = tool({ inputSchema: own, handler: ({ a }) => a });
  const said = prompt({ arguments: { a: { required: true } }, handler: ({ a }) => a });
  const app = connect({ ...options, WebSocket: TestWebSocket, tools: { stands }, prompts: { said } });
  app.close();
  assert.equal(app.status.state, "stopped");
});
