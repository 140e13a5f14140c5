// Stands between the official suite, which cannot send a token, and a router: adds the
// Authorization header and passes everything else through as it is, Host included, each way
// unbuffered. Ends with its standard input.
//
//     proxy.mjs TARGET_URL TOKEN        prints its own URL

import http from 'node:http';

const target = new URL(process.argv[2]);
const authorization = `Bearer ${process.argv[3]}`;
const agent = new http.Agent({ keepAlive: true });

const server = http.createServer((request, response) => {
  const upstream = http.request({
    agent,
    host: target.hostname,
    port: target.port,
    path: request.url,
    method: request.method,
    headers: [...request.rawHeaders, 'Authorization', authorization],
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
  // The suite's closing of a response must reach the router, for that cancels.
  response.on('close', () => upstream.destroy());
  request.pipe(upstream);
});

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}${target.pathname}`);
});
process.stdin.on('end', () => process.exit(0)).resume();
