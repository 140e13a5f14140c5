// What every JavaScript agent does against the cluster, and what must come of it.
//
// An agent hands in `connect(wire)`, which opens a connection through `wire.fetch` and answers
// {protocolVersion, listTools, callTool, onToolsChanged, listPrompts, getPrompt, listResources,
// listTemplates, readResource, complete, onUpdated, close}, and answers what the server asks with
// ANSWERS. Each scenario prints one line, `ok|FAIL <agent> <mode> <scenario> [detail]`, and compares
// contents, never mere success.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

/** A failure's text is cut after so many characters. */
const REASON_LENGTH = 600;

/** How long any wait for the other side may take, in milliseconds. */
const PATIENCE_MS = 10_000;

const WATCHED = 'test://watched-resource';

const FORMS = {
  'Who are you?': { email: 'ada@example.com', username: 'ada' },
  'What is your name?': { name: 'Ada' },
  'Please confirm': { ok: true },
  'Step 1: What is your name?': { name: 'Ada' },
  'Step 2: What is your favorite color?': { color: 'blue' },
};

/** What the user of each agent says, its model, and its roots; by the method of the request. */
export const ANSWERS = {
  'elicitation/create': ({ params: { message } }) => ({ action: 'accept', content: FORMS[message] }),
  'sampling/createMessage': ({ params: { messages } }) => {
    const said = [messages[0].content].flat()[0].text;
    return { role: 'assistant', model: 'none', content: { type: 'text', text: `Yes: ${said}` } };
  },
  'roots/list': () => ({ roots: [{ uri: 'file:///ada', name: 'Ada' }] }),
};

/** What must be declared for them. */
export const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Rejects when `promise` is not settled within `ms`. */
function within(ms, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: nothing within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The agent's HTTP traffic, recorded: which request was answered how. */
class Wire {
  #exchanges = [];
  #streamOpened;

  constructor() {
    this.streamOpen = new Promise((resolve) => {
      this.#streamOpened = resolve;
    });
    this.fetch = async (url, init) => {
      const rpc = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
      const response = await fetch(url, init);
      const type = response.headers.get('content-type') ?? '';
      const method = init?.method ?? 'GET';
      this.#exchanges.push({ method, rpc: rpc?.method, params: rpc?.params, status: response.status, type });
      if (response.ok && (method === 'GET' || rpc?.method === 'subscriptions/listen')) this.#streamOpened();
      return response;
    };
  }

  /** The content types with which the calls of `tool` were answered. */
  answerTypesOf(tool) {
    return this.#exchanges.filter((e) => e.rpc === 'tools/call' && e.params.name === tool).map((e) => e.type);
  }

  /** The HTTP status of the latest request with this HTTP method. */
  statusOf(method) {
    return this.#exchanges.findLast((e) => e.method === method)?.status;
  }

  /** How many JSON-RPC messages with this method were sent. */
  countOf(rpcMethod) {
    return this.#exchanges.filter((e) => e.rpc === rpcMethod).length;
  }
}

function textOf(result) {
  assert.equal(result.content?.length, 1, `one content item, got ${JSON.stringify(result.content)}`);
  assert.equal(result.content[0].type, 'text');
  return result.content[0].text;
}

async function callText(agent, name, args = {}, options = {}) {
  const result = await agent.callTool(name, args, options);
  assert.notEqual(result.isError, true, `${name} answered an error: ${JSON.stringify(result.content)}`);
  return textOf(result);
}

const slowStats = async (agent) => JSON.parse(await callText(agent, 'test_slow_stats'));

function assertTools(listed, expected) {
  assert.deepEqual(listed.map((tool) => tool.name), expected.map((tool) => tool.name));
  for (const [i, tool] of expected.entries()) {
    assert.equal(listed[i].description, tool.description);
    assert.deepEqual(listed[i].inputSchema, tool.inputSchema, `schema of ${tool.name}`);
  }
}

const fixed = (tools) => tools.filter((tool) => !tool.name.startsWith('test_dynamic_'));

/** Takes a running call back and waits until the app has counted that. */
async function cancelAfter(ms, agent, wire, era) {
  const before = await slowStats(agent);
  const cancels = wire.countOf('notifications/cancelled');
  const controller = new AbortController();
  const call = agent.callTool('test_slow', { ms: 20_000 }, { signal: controller.signal });
  const refused = assert.rejects(call, 'a cancelled call must reject');
  await sleep(ms);
  const running = await slowStats(agent);
  assert.deepEqual(running, { ...before, started: before.started + 1 }, 'counts while the call runs');
  controller.abort();
  await within(PATIENCE_MS, 'the cancelled call', refused);
  const deadline = performance.now() + PATIENCE_MS;
  let stats = running;
  while (stats.cancelled === before.cancelled && performance.now() < deadline) {
    await sleep(100);
    stats = await slowStats(agent);
  }
  assert.deepEqual(stats, { ...running, cancelled: before.cancelled + 1 }, 'counts after the cancel');
  assert.equal(wire.countOf('notifications/cancelled') - cancels, era === 'legacy' ? 1 : 0);
}

const scenarios = {
  async list({ agent, catalogue }) {
    const tools = fixed(await agent.listTools());
    assertTools(tools, catalogue.tools);
    return `${tools.length} tools`;
  },

  async call({ agent }) {
    assert.equal(await callText(agent, 'test_simple_text'), 'This is a simple text response for testing.');
    const key = `schlüssel ${process.pid} ${Date.now()} ⚙`;
    assert.equal(await callText(agent, 'test_count', { key }), '1');
    assert.equal(await callText(agent, 'test_count', { key }), '2');
  },

  async 'tool-error'({ agent }) {
    const result = await agent.callTool('test_error_handling', {}, {});
    assert.equal(result.isError, true);
    assert.equal(textOf(result), 'This tool intentionally returns an error for testing');
  },

  async slow({ agent, wire }) {
    const start = performance.now();
    assert.equal(await callText(agent, 'test_slow', { ms: 2500 }), 'slept 2500 ms');
    const took = Math.round(performance.now() - start);
    assert.ok(took >= 2490, `took only ${took} ms`);
    assert.match(wire.answerTypesOf('test_slow').at(-1), /^text\/event-stream/);
    return `${took} ms`;
  },

  async progress({ agent }) {
    const seen = [];
    const onProgress = (p) => seen.push(p);
    const text = await callText(agent, 'test_tool_with_progress', {}, { onProgress });
    assert.equal(text, 'Tool with progress executed successfully');
    assert.deepEqual(
      seen.map(({ progress, total, message }) => ({ progress, total, message })),
      [0, 50, 100].map((n) => ({ progress: n, total: 100, message: `Completed step ${n} of 100` })),
    );
    seen.length = 0;
    assert.equal(await callText(agent, 'test_slow', { ms: 2000 }, { onProgress }), 'slept 2000 ms');
    assert.ok(seen.length >= 2, `progress of a slow call: ${JSON.stringify(seen)}`);
    assert.ok(seen.every((p, i) => p.total === 2000 && (i === 0 || p.progress > seen[i - 1].progress)));
  },

  async cancel({ agent, wire, era }) {
    await cancelAfter(500, agent, wire, era);
  },

  async 'cancel-stream'({ agent, wire, era }) {
    const answered = wire.answerTypesOf('test_slow').length;
    await cancelAfter(1500, agent, wire, era);
    const [type, ...more] = wire.answerTypesOf('test_slow').slice(answered);
    assert.match(type ?? 'no answer', /^text\/event-stream/);
    assert.deepEqual(more, []);
  },

  async 'list-changed'({ agent, wire }) {
    const changes = await agent.onToolsChanged();
    await within(PATIENCE_MS, 'the notification stream', wire.streamOpen);
    const start = await agent.listTools();
    for (const round of [1, 2]) {
      const notified = changes.next();
      const [verb, name] = (await callText(agent, 'test_trigger_tool_change')).split(' ');
      await within(PATIENCE_MS, `list_changed ${round}`, notified);
      const names = (await agent.listTools()).map((tool) => tool.name);
      assert.equal(names.includes(name), verb === 'added', `${name} ${verb}, yet listed: ${names}`);
      if (verb === 'added') {
        assert.equal(await callText(agent, name), `dynamic ${name.slice('test_dynamic_'.length)}`);
      }
    }
    const end = await agent.listTools();
    assert.deepEqual(fixed(end), fixed(start), 'the other tools must stay as they are');
    assert.equal(end.length, start.length, 'two changes must end where they began');
    assert.equal(changes.count, 2, 'one notification for each change');
  },

  async prompts({ agent, catalogue }) {
    const prompts = (await agent.listPrompts()).filter(({ name }) => !name.startsWith('test_dynamic_'));
    assert.deepEqual(prompts.map(({ name }) => name), catalogue.prompts.map(({ name }) => name));
    assert.deepEqual(prompts[1].arguments, catalogue.prompts[1].arguments);
    const { messages } = await agent.getPrompt('test_prompt_with_arguments', { arg1: 'ä', arg2: '2' });
    assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: "Prompt with arguments: arg1='ä', arg2='2'" } }]);
    const image = await agent.getPrompt('test_prompt_with_image', {});
    assert.deepEqual(image.messages, catalogue.promptResults.test_prompt_with_image.messages);
    await assert.rejects(agent.getPrompt('no such prompt', {}), /no such prompt/);
  },

  async resources({ agent, catalogue }) {
    assert.deepEqual(await agent.listResources(), catalogue.resources);
    assert.deepEqual(await agent.listTemplates(), catalogue.resourceTemplates);
    for (const [uri, content] of Object.entries(catalogue.contents)) {
      const { mimeType } = catalogue.resources.find((resource) => resource.uri === uri);
      assert.deepEqual(await agent.readResource(uri), [{ uri, mimeType, ...content }]);
    }
    const uri = 'test://template/caf%C3%A9/data';
    const text = '{"id":"café","templateTest":true,"data":"Data for ID: café"}';
    assert.deepEqual(await agent.readResource(uri), [{ uri, mimeType: 'application/json', text }]);
    await assert.rejects(agent.readResource('test://no-such'), /Resource not found/);
  },

  async complete({ agent }) {
    const prompt = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
    assert.deepEqual((await agent.complete(prompt, { name: 'arg1', value: 'PAR' })).values, ['paris', 'park', 'party']);
    const template = { type: 'ref/resource', uri: 'test://template/{id}/data' };
    assert.deepEqual((await agent.complete(template, { name: 'id', value: '12' })).values, ['12', '123']);
  },

  async updated({ agent }) {
    const updates = await agent.onUpdated(WATCHED);
    const notified = updates.next();
    const text = await callText(agent, 'test_update_watched_resource');
    await within(PATIENCE_MS, 'the update', notified);
    assert.deepEqual(await agent.readResource(WATCHED), [{ uri: WATCHED, mimeType: 'text/plain', text }]);
  },

  async question({ agent }) {
    assert.equal(
      await callText(agent, 'test_elicitation', { message: 'Who are you?' }),
      'User response: action=accept, content={"email":"ada@example.com","username":"ada"}',
    );
    assert.equal(await callText(agent, 'test_sampling', { prompt: 'Well?' }), 'LLM response: Yes: Well?');
    assert.equal(
      await callText(agent, 'test_input_required_result_multiple_inputs'),
      'Name: Ada; Greeting: Yes: Generate a greeting; Roots: 1',
    );
    assert.equal(
      await callText(agent, 'test_input_required_result_multi_round'),
      'Multi-round complete for Ada who likes blue',
    );
    assert.equal(await callText(agent, 'test_input_required_result_request_state'), 'state-ok: requestState validated');
  },

  async close({ agent, wire, era }) {
    await within(PATIENCE_MS, 'closing', agent.close());
    if (era === 'legacy') assert.ok([200, 202, 204].includes(wire.statusOf('DELETE')), `DELETE: ${wire.statusOf('DELETE')}`);
  },
};

/** Counts notifications and lets a scenario wait for the next one. */
export class Changes {
  count = 0;
  #waiting = [];

  /** To be called by the agent for each notification. */
  notify() {
    this.count += 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Settles with the next notification. */
  next() {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Runs all scenarios; the process's exit code tells whether all passed. */
export async function run(agentName, mode, era, connect) {
  const wire = new Wire();
  const catalogue = JSON.parse(readFileSync(process.env.FIXTURE_CATALOGUE, 'utf8'));
  let agent;
  const report = async (name, scenario) => {
    try {
      const detail = await within(60_000, name, scenario());
      console.log(['ok', agentName, mode, name, detail].filter(Boolean).join(' '));
    } catch (error) {
      process.exitCode = 1;
      const reason = String(error.message ?? error).replace(/\s+/g, ' ').slice(0, REASON_LENGTH);
      console.log(['FAIL', agentName, mode, name, reason].join(' '));
    }
  };
  await report('connect', async () => {
    agent = await connect(wire, { url: new URL(process.env.MCP_URL), token: process.env.MCP_TOKEN });
    assert.equal(agent.protocolVersion, era === 'legacy' ? '2025-11-25' : '2026-07-28');
    return agent.protocolVersion;
  });
  if (agent) {
    for (const [name, scenario] of Object.entries(scenarios)) {
      await report(name, () => scenario({ agent, wire, catalogue, era }));
    }
  }
  process.exit(process.exitCode ?? 0);
}
