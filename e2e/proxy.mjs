// A loopback proxy before the routers: each request goes to the next of them, as behind a load
// balancer that knows nothing of sessions. It can add a token for a client that sends none.
// Everything else passes as it is, Host included, each way unbuffered. Ends with its standard input.
//
//     proxy.mjs [--bearer TOKEN] URL...        prints its own URL

import http from 'node:http';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({ options: { bearer: { type: 'string' } }, allowPositionals: true });
const targets = positionals.map((url) => new URL(url));
const added = values.bearer ? ['Authorization', `Bearer ${values.bearer}`] : [];
const agent = new http.Agent({ keepAlive: true });
let turn = 0;

const server = http.createServer((request, response) => {
  const target = targets[turn++ % targets.length];
  const upstream = http.request({
    agent,
    host: target.hostname,
    port: target.port,
    path: request.url,
    method: request.method,
    headers: [...request.rawHeaders, ...added],
    setHost: false,
  });
  upstream.on('response', (answer) => {
    response.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  upstream.on('error', (error) => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end(`proxy: ${error.message}\n`);
  });
  // A client that closes its response must be seen to do so by the router, for that cancels.
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
});

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}${targets[0].pathname}`);
});
process.stdin.on('end', () => process.exit(0)).resume();
