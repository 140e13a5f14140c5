// ../fixture/catalogue.json: what the fixture offers, and the answers that never change.

import { readFileSync } from 'node:fs';
import { withJsonSchema } from '../../sdk/js/dist/index.js';

export const catalogue = JSON.parse(readFileSync(new URL('../fixture/catalogue.json', import.meta.url), 'utf8'));

/** These check their arguments themselves, and say what is wrong in words of their own. */
const UNCHECKED = new Set(['test_slow', 'test_count']);

/** The catalogue's tools in its order, each with its handler. */
export function toolsWith(handlers) {
  const tools = {};
  for (const { name, inputSchema, ...definition } of catalogue.tools) {
    const fixed = catalogue.results[name];
    const handler = handlers[name] ?? (fixed && (() => fixed));
    if (!handler) throw new Error(`the catalogue has a tool ${name} that this program does not know`);
    const schema = UNCHECKED.has(name) ? unchecked(inputSchema) : inputSchema;
    tools[name] = { ...definition, inputSchema: schema, ...catalogue.toolOptions[name], handler };
  }
  return tools;
}

/** The catalogue's prompts, likewise. */
export function promptsWith(handlers) {
  const prompts = {};
  for (const { name, arguments: list = [], ...definition } of catalogue.prompts) {
    const completions = catalogue.completions.prompts[name] ?? {};
    const fixed = catalogue.promptResults[name];
    const members = list.map(({ name: argument, ...about }) => [argument, withCompleter(about, completions[argument])]);
    prompts[name] = {
      ...definition,
      ...(list.length > 0 && { arguments: Object.fromEntries(members) }),
      handler: handlers[name] ?? (() => fixed),
    };
  }
  return prompts;
}

/** The catalogue's resources, likewise. */
export function resourcesWith(readers) {
  const resources = {};
  for (const { uri, ...definition } of catalogue.resources) {
    resources[uri] = { ...definition, read: readers[uri] ?? (() => catalogue.contents[uri]) };
  }
  return resources;
}

/** The catalogue's resource templates, likewise. */
export function templatesWith(readers) {
  const templates = {};
  for (const { uriTemplate, ...definition } of catalogue.resourceTemplates) {
    const complete = catalogue.completions.resourceTemplates[uriTemplate];
    templates[uriTemplate] = { ...definition, ...(complete && { complete }), read: readers[uriTemplate] };
  }
  return templates;
}

function withCompleter(about, complete) {
  return complete ? { ...about, complete } : about;
}

function unchecked(schema) {
  const anything = { '~standard': { version: 1, vendor: 'fixture', validate: (value) => ({ value }) } };
  return withJsonSchema(anything, schema);
}
