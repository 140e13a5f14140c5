// The fixture app on the JavaScript SDK: offers the tools of ../fixture/catalogue.json as
// ../fixture/README.md describes them, until it is told to end.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { connect } from '../../sdk/js/dist/index.js';
import { programmedTools } from './tools.mjs';

const { values } = parseArgs({ options: { url: { type: 'string' }, token: { type: 'string' } } });
const url = values.url ?? process.env.CLIENTMCP_URL;
const token = values.token ?? process.env.CLIENTMCP_TOKEN;
if (!url || !token) {
  console.error('usage: main.mjs --url ws://HOST:PORT/v1/connect --token TOKEN (or CLIENTMCP_URL, CLIENTMCP_TOKEN)');
  process.exit(2);
}

const catalogue = JSON.parse(readFileSync(new URL('../fixture/catalogue.json', import.meta.url), 'utf8'));
const handlers = programmedTools({ setDynamicTool: (name, tool) => app.setTools(toolsWith(name, tool)) });

/** All tools in the catalogue's order, and at the end the one that comes and goes. */
function toolsWith(dynamicName, dynamicTool) {
  const tools = {};
  for (const { name, ...definition } of catalogue.tools) {
    const fixed = catalogue.results[name];
    const handler = fixed ? () => fixed : handlers[name];
    if (!handler) throw new Error(`the catalogue has a tool ${name} that this program does not know`);
    tools[name] = { ...definition, ...catalogue.toolOptions[name], handler };
  }
  if (dynamicTool) tools[dynamicName] = dynamicTool;
  return tools;
}

const app = connect({
  url,
  token,
  serverInfo: catalogue.serverInfo,
  instructions: catalogue.instructions,
  tools: toolsWith(),
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
