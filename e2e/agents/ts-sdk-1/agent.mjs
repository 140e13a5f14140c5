// npm @modelcontextprotocol/sdk 1.x: the 2025-11-25 revision, with a session and a GET stream.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { ANSWERS, CAPABILITIES, Changes, run } from '../scenarios.mjs';

async function connect(wire, { url, token }) {
  const client = new Client({ name: 'e2e-ts-sdk-1', version: '1.0.0' }, { capabilities: CAPABILITIES });
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: wire.fetch,
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  const changes = new Changes();
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => changes.notify());
  const updates = new Changes();
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => updates.notify());
  client.setRequestHandler(ElicitRequestSchema, ANSWERS['elicitation/create']);
  client.setRequestHandler(CreateMessageRequestSchema, ANSWERS['sampling/createMessage']);
  client.setRequestHandler(ListRootsRequestSchema, ANSWERS['roots/list']);
  await client.connect(transport);
  return {
    protocolVersion: transport.protocolVersion,
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args, { signal, onProgress }) =>
      client.callTool({ name, arguments: args }, CallToolResultSchema, { signal, onprogress: onProgress }),
    onToolsChanged: async () => changes,
    listPrompts: async () => (await client.listPrompts()).prompts,
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    readResource: async (uri) => (await client.readResource({ uri })).contents,
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion,
    onUpdated: async (uri) => {
      await client.subscribeResource({ uri });
      return updates;
    },
    close: async () => {
      await transport.terminateSession();
      await client.close();
    },
  };
}

await run('ts-sdk-1', '2025-11-25', 'legacy', connect);
