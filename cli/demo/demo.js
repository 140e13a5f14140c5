// An application as small as they come: tools that change this page, a resource that can be watched,
// and a prompt. What is needed to offer them is in `start`; the rest shows what happens.
import { connect, ToolError } from "/sdk/clientmcp.js";

const MAX_CALLS_SHOWN = 100;
const MAX_TEXT = 500;
const ITEMS = "demo://items";

const element = (id) => document.getElementById(id);

const text = (description) => ({
  type: "object",
  properties: { text: { type: "string", description, maxLength: MAX_TEXT } },
  required: ["text"],
  additionalProperties: false,
});

const tools = {
  set_background: {
    title: "Set the background",
    description: "Colors the background of the page that the person is looking at.",
    inputSchema: {
      type: "object",
      properties: { color: { type: "string", description: "A CSS color, such as teal or #0a84ff" } },
      required: ["color"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    handler: ({ color }) => {
      paint(color);
      return `The background is ${color} now.`;
    },
  },
  show_message: {
    title: "Show a message",
    description: "Shows a text to the person, in place of the one before.",
    inputSchema: text("What to show"),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    handler: (args) => {
      element("message").textContent = readText(args);
      return "The message is shown.";
    },
  },
  add_item: {
    title: "Add an item to the list",
    description: "Adds an item at the end of the list on the page.",
    inputSchema: text("The item"),
    outputSchema: { type: "object", properties: { items: { type: "integer" } }, required: ["items"] },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    handler: (args) => {
      const item = document.createElement("li");
      item.textContent = readText(args);
      element("items").append(item);
      return { items: element("items").childElementCount };
    },
  },
  clear_items: {
    title: "Clear the list",
    description: "Removes all items from the list, if the person agrees: they are asked through the agent.",
    inputSchema: { type: "object", additionalProperties: false },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    handler: async (_, { elicit }) => {
      const { childElementCount: count } = element("items");
      const answer = await elicit(`Remove all items (${count}) from the list?`, {
        type: "object",
        properties: { sure: { type: "boolean", title: "Remove them" } },
        required: ["sure"],
      });
      if (answer.action !== "accept" || !answer.content.sure) return "The person keeps the items.";
      element("items").replaceChildren();
      return "The list is empty now.";
    },
  },
};

const resources = {
  [ITEMS]: {
    name: "items",
    title: "The list on the page",
    mimeType: "text/plain",
    read: () => Array.from(element("items").children, (item) => item.textContent).join("\n"),
  },
};

const prompts = {
  summarize: {
    title: "Summarize the list",
    description: "Summarizes the items on the page, and shows the summary there.",
    arguments: { style: { description: "How to write it", complete: ["short", "funny", "formal"] } },
    handler: ({ style = "short" }) => `Read ${ITEMS}, and show a ${style} summary of it with show_message.`,
  },
};

async function start() {
  let session = await fetchSession();
  showCommands(session);
  element("client").textContent = session.clientId;

  // ?token=… stands in for a token that is wrong, to see what an application then sees.
  const given = new URLSearchParams(location.search).get("token");
  const app = connect({
    url: session.connectUrl,
    token: given ?? (async ({ reason }) => {
      if (reason !== "connect") showCommands((session = await fetchSession()));
      return session.appToken;
    }),
    serverInfo: { name: "clientmcp-demo", title: "ClientMCP demo page", version: "1.0.0" },
    instructions: "The tools change a web page that a person is looking at.",
    tools: Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, logged(name, tool)])),
    resources,
    prompts,
  });
  new MutationObserver(() => app.resourceUpdated(ITEMS)).observe(element("items"), { childList: true });
  app.on("status", showStatus);
  showStatus(app.status);
  element("again").onclick = () => app.connect();
}

/** Fresh tokens, each time; `clientmcp dev` serves them beside this page. */
async function fetchSession() {
  const response = await fetch("/dev/session", { cache: "no-store" });
  if (!response.ok) throw new Error(`/dev/session answered ${response.status}`);
  return response.json();
}

function readText({ text }) {
  if (typeof text !== "string" || text.trim() === "") throw new ToolError("text must be a text that is not empty");
  if (text.length > MAX_TEXT) throw new ToolError(`text must have at most ${MAX_TEXT} characters`);
  return text;
}

/** Colors the page, and what is written on it so that it stays readable. */
function paint(color) {
  if (typeof color !== "string" || !CSS.supports("background-color", color) || /\b(var|env)\(/i.test(color)) {
    throw new ToolError(`${color} is no CSS color; try a name such as teal, or one like #0a84ff`);
  }
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  for (const layer of ["white", color]) {
    canvas.fillStyle = layer;
    canvas.fillRect(0, 0, 1, 1);
  }
  const [red, green, blue] = Array.from(canvas.getImageData(0, 0, 1, 1).data, (part) => (part / 255) ** 2.2);
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  document.body.style.backgroundColor = color;
  document.querySelector("header").style.color = luminance > 0.18 ? "#000" : "#fff";
}

/** The tool, each call of it shown in the page. */
function logged(name, tool) {
  const handler = async (args, context) => {
    const outcome = showCall(name, args);
    try {
      const value = await tool.handler(args, context);
      outcome("done");
      return value;
    } catch (error) {
      outcome(error.message, true);
      throw error;
    }
  };
  return { ...tool, handler };
}

/** Adds a call to the log; the returned function says how it ended. */
function showCall(name, args) {
  const part = (tag, className, ...content) => {
    const made = document.createElement(tag);
    made.className = className;
    made.append(...content);
    return made;
  };
  const time = part("time", "time", new Date().toLocaleTimeString());
  const outcome = part("div", "outcome", "running");
  const head = part("div", "head", part("span", "tool", name), time);
  element("calls").prepend(part("li", "call", head, part("code", "arguments", JSON.stringify(args)), outcome));
  if (element("calls").childElementCount > MAX_CALLS_SHOWN) element("calls").lastElementChild.remove();
  return (content, failed = false) => {
    outcome.textContent = content;
    outcome.classList.toggle("failed", failed);
  };
}

function showStatus({ state, code, reason, retryInMs }) {
  element("status").textContent = state;
  element("status").dataset.status = state;
  element("again").hidden = state !== "stopped";
  if (state === "online") element("reason").textContent = "";
  if (reason === undefined) return;
  const retry = retryInMs === undefined ? "" : `; trying again in ${(retryInMs / 1000).toFixed(1)} s`;
  element("reason").textContent = `${reason}${code === undefined ? "" : ` (${code})`}${retry}`;
}

function showCommands({ agentUrl, agentToken, expiresInMs }) {
  const bearer = `"Authorization: Bearer ${agentToken}"`;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "curl", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "set_background", arguments: { color: "teal" }, _meta };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  element("agent-command").textContent =
    `claude mcp add --transport http clientmcp-demo ${agentUrl} --header ${bearer}`;
  element("curl-command").textContent = [
    `curl ${agentUrl}`,
    `  -H ${bearer}`,
    `  -H "Content-Type: application/json"`,
    `  -H "Accept: application/json, text/event-stream"`,
    `  -H "MCP-Protocol-Version: 2026-07-28"`,
    `  -H "Mcp-Method: tools/call"`,
    `  -H "Mcp-Name: set_background"`,
    `  -d '${JSON.stringify(body)}'`,
  ].join(" \\\n");
  const until = new Date(Date.now() + expiresInMs).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  element("validity").textContent = `The token in these commands is valid until ${until}; reload the page for another.`;
}

for (const button of document.querySelectorAll("[data-copies]")) {
  button.onclick = async () => {
    const source = element(button.dataset.copies);
    getSelection().selectAllChildren(source);
    // Pages without TLS have no clipboard, except on loopback; there the selection has to do.
    await navigator.clipboard?.writeText(source.textContent);
    button.textContent = navigator.clipboard ? "Copied" : "Selected";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
}

start().catch((error) => showStatus({ state: "stopped", reason: error.message }));
