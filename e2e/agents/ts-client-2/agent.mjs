// npm @modelcontextprotocol/client 2.x, in the mode named by the first argument: `2025-11-25`
// (its default, a session), `auto` (asks server/discover first) or `2026-07-28` (pinned, stateless).

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ANSWERS, CAPABILITIES, Changes, run } from '../scenarios.mjs';

const mode = process.argv[2];
const modern = mode !== '2025-11-25';

async function connect(wire, { url, token }) {
  const client = new Client(
    { name: 'e2e-ts-client-2', version: '1.0.0' },
    {
      capabilities: CAPABILITIES,
      ...(modern && { versionNegotiation: { mode: mode === 'auto' ? mode : { pin: mode } } }),
    },
  );
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: wire.fetch,
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  const changes = new Changes();
  client.setNotificationHandler('notifications/tools/list_changed', () => changes.notify());
  const updates = new Changes();
  client.setNotificationHandler('notifications/resources/updated', () => updates.notify());
  for (const [method, answer] of Object.entries(ANSWERS)) client.setRequestHandler(method, answer);
  await client.connect(transport);
  let subscription;
  let watch;
  return {
    protocolVersion: client.getNegotiatedProtocolVersion(),
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args, { signal, onProgress }) =>
      client.callTool({ name, arguments: args }, { signal, onprogress: onProgress }),
    onToolsChanged: async () => {
      if (modern) {
        subscription = await client.listen({ toolsListChanged: true });
        if (subscription.honoredFilter.toolsListChanged !== true) throw new Error('the filter was not honoured');
      }
      return changes;
    },
    listPrompts: async () => (await client.listPrompts()).prompts,
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    listResources: async () => (await client.listResources()).resources,
    listTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    readResource: async (uri) => (await client.readResource({ uri })).contents,
    complete: async (ref, argument) => (await client.complete({ ref, argument })).completion,
    onUpdated: async (uri) => {
      if (modern) watch = await client.listen({ resourceSubscriptions: [uri] });
      else await client.subscribeResource({ uri });
      return updates;
    },
    close: async () => {
      await subscription?.close();
      await watch?.close();
      if (!modern) await transport.terminateSession();
      await client.close();
    },
  };
}

await run('ts-client-2', mode, modern ? 'modern' : 'legacy', connect);
