// The fixture app on the JavaScript SDK: offers what ../fixture/catalogue.json and
// ../fixture/README.md describe, until it is told to end.

import { parseArgs } from 'node:util';
import { connect } from '../../sdk/js/dist/index.js';
import { askingPrompts, askingTools } from './asking.mjs';
import { catalogue, promptsWith, resourcesWith, templatesWith, toolsWith } from './catalogue.mjs';
import { comesAndGoes } from './dynamic.mjs';
import { programmedPrompts } from './prompts.mjs';
import { programmedResources } from './resources.mjs';
import { taskTools } from './tasks.mjs';
import { programmedTools } from './tools.mjs';

const { values } = parseArgs({ options: { url: { type: 'string' }, token: { type: 'string' } } });
const url = values.url ?? process.env.CLIENTMCP_URL;
const token = values.token ?? process.env.CLIENTMCP_TOKEN;
if (!url || !token) {
  console.error('usage: main.mjs --url ws://HOST:PORT/v1/connect --token TOKEN (or CLIENTMCP_URL, CLIENTMCP_TOKEN)');
  process.exit(2);
}

const watched = programmedResources({ resourceUpdated: (uri) => app.resourceUpdated(uri) });
const handlers = {
  ...programmedTools(),
  ...askingTools,
  ...taskTools,
  ...watched.tools,
  test_trigger_tool_change: comesAndGoes('test_dynamic', (name, number) => {
    const inputSchema = { type: 'object', properties: {} };
    const tool = { description: 'A tool that comes and goes', inputSchema, handler: () => `dynamic ${number}` };
    app.setTools({ ...tools, ...(name && { [name]: tool }) });
  }),
  test_trigger_prompt_change: comesAndGoes('test_dynamic_prompt', (name, number) => {
    const prompt = { description: 'A prompt that comes and goes', handler: () => `dynamic prompt ${number}` };
    app.setPrompts({ ...prompts, ...(name && { [name]: prompt }) });
  }),
};
const tools = toolsWith(handlers);
const prompts = promptsWith({ ...programmedPrompts, ...askingPrompts });

const app = connect({
  url,
  token,
  serverInfo: catalogue.serverInfo,
  instructions: catalogue.instructions,
  tools,
  prompts,
  resources: resourcesWith(watched.readers),
  resourceTemplates: templatesWith(watched.templateReaders),
});
app.on('status', ({ state, code, reason }) => {
  console.log([state, code, reason].filter((part) => part !== undefined).join(' '));
  if (state === 'stopped') process.exitCode = 1;
});
app.on('rejected', (rejected) => console.log(`rejected ${JSON.stringify(rejected)}`));

process.on('SIGTERM', () => {
  app.close();
  process.exit(0);
});
