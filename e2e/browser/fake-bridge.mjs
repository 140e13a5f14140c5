// The bridge that a page's app meets in a test: the test decides what it says.
import assert from "node:assert/strict";

const PATIENCE_MS = 20_000;

/** Takes the connections of a page's apps to PATH, and registers them; `limits` are what it tells them. */
export async function fakeBridge(page, path, limits = {}) {
  const sockets = [];
  let wake = () => {};
  await page.routeWebSocket((url) => url.pathname === path, (socket) => {
    const seen = { socket, pings: 0, messages: [] };
    sockets.push(seen);
    socket.onMessage((text) => {
      const message = JSON.parse(text);
      if (message.type === "ping") seen.pings++;
      else if (message.type !== "register") seen.messages.push(message);
      else socket.send(JSON.stringify({ type: "registered", clientId: "page", limits, reconnectWithinMs: 100 }));
      wake();
    });
  });

  async function until(condition) {
    const timer = setTimeout(() => wake(), PATIENCE_MS);
    const ends = performance.now() + PATIENCE_MS;
    while (!condition() && performance.now() < ends) await new Promise((resolve) => (wake = resolve));
    clearTimeout(timer);
    assert.ok(condition(), JSON.stringify(sockets.map(({ pings, messages }) => ({ pings, messages }))));
  }

  return {
    sockets,
    until,
    /** Delivers a call on the latest connection, and waits for its answer. */
    async call(id, params, context) {
      await until(() => sockets.length > 0);
      const { socket, messages } = sockets.at(-1);
      socket.send(JSON.stringify({ type: "call", id, method: "tools/call", params, deadlineMs: 60_000, context }));
      const answer = () => messages.find((message) => message.id === id);
      await until(() => answer() !== undefined);
      return answer();
    },
  };
}
