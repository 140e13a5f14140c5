// @clientmcp/sdk, Apache-2.0. Includes @cfworker/json-schema, MIT, by Jeremy Danyow (THIRD-PARTY.md). Generated from sdk/js by npm run build; do not edit.

// src/errors.ts
var ToolError = class extends Error {
  name = "ToolError";
};
var RpcError = class extends Error {
  name = "RpcError";
  code;
  data;
  /** @param code an integer, as JSON-RPC demands */
  constructor(code, message, data) {
    super(message);
    if (!Number.isSafeInteger(code)) throw new TypeError(`an error code is an integer, not ${code}`);
    this.code = code;
    this.data = data;
  }
};
var MissingCapability = class extends ToolError {
  name = "MissingCapability";
  required;
  constructor(required) {
    super(`the agent that calls did not declare the capability ${JSON.stringify(required)}, so it cannot be asked`);
    this.required = required;
  }
};
var ResourceNotFound = class extends Error {
  name = "ResourceNotFound";
  uri;
  constructor(uri2) {
    super(`Resource not found: ${uri2}`);
    this.uri = uri2;
  }
};
var CallCancelled = class extends Error {
  name = "AbortError";
  reason;
  constructor(reason) {
    super(`the call was cancelled (${reason})`);
    this.reason = reason;
  }
};
function messageOf(thrown) {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  try {
    return String(thrown);
  } catch {
    return "something that has no text was thrown";
  }
}
var INVALID_PARAMS = -32602;
var METHOD_NOT_FOUND = -32601;
var INTERNAL_ERROR = -32603;
var LEGACY_RESOURCE_NOT_FOUND = -32002;
var MISSING_CAPABILITY = -32021;
var LEGACY_MISSING_CAPABILITY = 42200;
var OUTCOME_UNKNOWN = -31002;
function refusedState() {
  return new RpcError(
    INVALID_PARAMS,
    "requestState is not what this application gave for this request, or has expired: call again without it"
  );
}

// src/reconnect.ts
var DEFAULT_WITHIN_MS = 200;
var BACKOFF_BASE_MS = 500;
var BACKOFF_CAP_MS = 3e4;
var STABLE_MS = 2e3;
var RULES = {
  1e3: { action: "spread", text: "the bridge closed the connection" },
  1001: { action: "spread", text: "the bridge, or a proxy before it, went away" },
  1002: { action: "backoff", text: "protocol error", reported: true },
  1003: { action: "backoff", text: "a frame of a kind that the bridge does not take", reported: true },
  1006: { action: "spread", text: "the connection was lost" },
  1007: { action: "backoff", text: "a frame was not UTF-8", reported: true },
  1009: { action: "backoff", text: "a message was larger than the bridge takes" },
  1012: { action: "spread", text: "the bridge restarts" },
  1013: { action: "backoff", text: "the bridge is overloaded" },
  4400: { action: "stop", text: "the bridge did not understand a message", reported: true },
  4401: { action: "token", text: "the token is missing, wrong or expired" },
  4403: { action: "stop", text: "the token's scope, or this page's origin, is not allowed", reported: true },
  4408: { action: "backoff", text: "silent for too long" },
  4409: { action: "stop", text: "another instance of this application took over" }
};
var OTHER = { action: "backoff", text: "the connection was closed" };
function ruleOf(code) {
  return RULES[code === 1005 ? 1006 : code] ?? OTHER;
}
function closeText(code, reason) {
  return reason || ruleOf(code).text;
}
function isReported(code) {
  return ruleOf(code).reported === true;
}
var Reconnect = class {
  #random;
  #withinMs = DEFAULT_WITHIN_MS;
  /** When the connection in use was made, or the first of those that took over from each other. */
  #registeredAt;
  /** Connections tried since the last one that was stable. */
  #tries = 0;
  /** @param random a number in [0, 1) */
  constructor(random) {
    this.#random = random;
  }
  /** @param tookOver whether it replaced a connection that stood: then it has stood as long as that */
  handleRegistered(now, withinMs, tookOver) {
    if (!tookOver) this.#registeredAt = now;
    if (withinMs !== void 0 && withinMs >= 0) this.#withinMs = withinMs;
  }
  /** @param registered whether the socket that closed was the one in use */
  handleClosed(code, now, registered) {
    const { action } = ruleOf(code);
    if (action === "stop") return { kind: "stop" };
    if (registered && this.#registeredAt !== void 0 && now - this.#registeredAt >= STABLE_MS) {
      this.#tries = 0;
    }
    if (action === "token") return { kind: "token", delayMs: this.nextDelay("spread") };
    return { kind: "retry", delayMs: this.nextDelay(action) };
  }
  /** The next delay in milliseconds; each call is a try. */
  nextDelay(action) {
    const tries = this.#tries++;
    if (tries === 0 && action === "spread") return this.#random() * this.#withinMs;
    const doublings = Math.min(Math.max(tries - 1, 0), 16);
    return this.#random() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** doublings);
  }
  /** A point of time within the window that a `move` names, early enough to be done by its end. */
  moveDelay(withinMs) {
    return this.#random() * Math.max(withinMs ?? 0, 0) / 2;
  }
  /** Forgets earlier tries, for a start that was asked for. */
  reset() {
    this.#tries = 0;
  }
};

// src/messages.ts
var KINDS = ["tools", "prompts", "resources", "rest"];
var LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency"
];
var MAX_DEPTH = 128;
var MODERN_SINCE = "2026-07-28";
function isModern(protocolVersion) {
  return protocolVersion === void 0 || protocolVersion >= MODERN_SINCE;
}
var DEFAULT_LIMITS = {
  maxMessageBytes: 4 * 1024 * 1024,
  pingIntervalMs: 2e4,
  silenceTimeoutMs: 45e3
};
var PING = '{"type":"ping"}';
var PONG = '{"type":"pong"}';
function parseMessage(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return void 0;
  }
  if (typeof value !== "object" || value === null) return void 0;
  return typeof value.type === "string" ? value : void 0;
}
function encodeMessage(message) {
  const text = JSON.stringify(message);
  if (!text.includes("\\ud")) return text;
  return text.replace(/\\(?:\\|ud[0-9a-f]{3})/g, (escape) => escape === "\\\\" ? escape : "�");
}
var encoder = new TextEncoder();
function byteLength(text) {
  return encoder.encode(text).length;
}
function fits(text, limit) {
  return text.length * 3 <= limit || text.length <= limit && byteLength(text) <= limit;
}
function isShallow(json) {
  if (json.length <= 2 * MAX_DEPTH) return true;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (inString) {
      if (character === "\\") i++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "{" || character === "[") {
      if (++depth > MAX_DEPTH) return false;
    } else if (character === "}" || character === "]") depth--;
  }
  return true;
}

// src/socket.ts
var SUBPROTOCOL = "clientmcp.v1";
var TOKEN_SUBPROTOCOL = "clientmcp.token.";
var OPEN_TIMEOUT_MS = 15e3;
var PROBE_TIMEOUT_MS = 5e3;
var Socket = class {
  #environment;
  #handlers;
  #socket;
  #url;
  #state = "opening";
  #lastReceived = 0;
  /** the deadline of opening, later that of an answer to a probe */
  #cancelDeadline = () => {
  };
  #cancelPing = () => {
  };
  #cancelSilence = () => {
  };
  /** @throws SyntaxError, TypeError for a URL that is none of a WebSocket */
  constructor(environment, url, token, handlers) {
    this.#environment = environment;
    this.#handlers = handlers;
    this.#url = url;
    this.#socket = new environment.WebSocket(url, [SUBPROTOCOL, TOKEN_SUBPROTOCOL + token]);
    this.#socket.onopen = () => this.#handleOpen();
    this.#socket.onmessage = (event) => this.#handleFrame(event.data);
    this.#socket.onerror = () => {
      if (this.#state === "opening") this.#handleClose(1006, "");
    };
    this.#socket.onclose = (event) => this.#handleClose(event.code, event.reason);
    this.#cancelDeadline = environment.timers.after(
      OPEN_TIMEOUT_MS,
      () => this.#abandon(1006, `no answer from ${url}`)
    );
  }
  get isOpen() {
    return this.#state === "open";
  }
  /** Sends a frame; false if there is nothing to send it on. */
  send(text) {
    if (this.#state !== "open") return false;
    this.#socket.send(text);
    return true;
  }
  /** Closes it for good; no handler is called any more. */
  close(code, reason) {
    if (this.#state === "closed") return;
    this.#finish();
    this.#socket.close(code, reason);
  }
  /** Sets how often to ping, and how long a silence means that nobody is there. */
  keepAlive(pingIntervalMs, silenceTimeoutMs) {
    this.#cancelPing();
    this.#cancelSilence();
    const { timers } = this.#environment;
    const ping = () => {
      this.send(PING);
      this.#cancelPing = timers.after(pingIntervalMs, ping);
    };
    const listen = () => {
      const left = this.#lastReceived + silenceTimeoutMs - timers.now();
      if (left <= 0) return this.#abandon(4408, `nothing was received for ${silenceTimeoutMs / 1e3} s`);
      this.#cancelSilence = timers.after(left, listen);
    };
    this.#cancelPing = timers.after(pingIntervalMs, ping);
    listen();
  }
  /** Asks for a sign of life, and gives the socket up if none comes soon. */
  probe() {
    const asked = this.#environment.timers.now();
    if (!this.send(PING)) return;
    this.#cancelDeadline();
    this.#cancelDeadline = this.#environment.timers.after(PROBE_TIMEOUT_MS, () => {
      if (this.#lastReceived < asked) this.#abandon(1006, "the connection was dead");
    });
  }
  #handleOpen() {
    if (this.#state !== "opening") return;
    if (this.#socket.protocol !== SUBPROTOCOL) {
      return this.#abandon(1002, `${this.#url} does not speak ${SUBPROTOCOL}`);
    }
    this.#cancelDeadline();
    this.#state = "open";
    this.#lastReceived = this.#environment.timers.now();
    this.keepAlive(DEFAULT_LIMITS.pingIntervalMs, DEFAULT_LIMITS.silenceTimeoutMs);
    this.#handlers.opened();
  }
  #handleFrame(data) {
    if (this.#state !== "open") return;
    this.#lastReceived = this.#environment.timers.now();
    const message = typeof data === "string" ? parseMessage(data) : void 0;
    if (message?.type === "ping") this.send(PONG);
    else if (message && message.type !== "pong") this.#hand(message);
  }
  /** A message with members of a wrong type must not end the process. */
  #hand(message) {
    try {
      this.#handlers.received(message);
    } catch (error) {
      this.#environment.logger.warn(`clientmcp: a ${message.type} message could not be handled`, error);
    }
  }
  #handleClose(code, reason) {
    if (this.#state === "closed") return;
    const neverOpened = this.#state === "opening";
    this.#finish();
    this.#handlers.closed(code, reason || (neverOpened ? `could not connect to ${this.#url}` : ""));
  }
  /** Gives the socket up without waiting for a peer that may be gone. */
  #abandon(code, reason) {
    if (this.#state === "closed") return;
    this.#finish();
    this.#socket.close(4408, "given up by the application's side");
    this.#handlers.closed(code, reason);
  }
  #finish() {
    this.#state = "closed";
    this.#cancelDeadline();
    this.#cancelPing();
    this.#cancelSilence();
  }
};

// src/token.ts
var NoToken = class extends Error {
};
var RENEW_AT = 0.8;
var MIN_RENEW_DELAY_MS = 1e3;
var CALLBACK_TIMEOUT_MS = 3e4;
var TokenSource = class {
  #given;
  #timers;
  #token;
  #renewAt = Infinity;
  #refused;
  /** Another token was had after a refusal; it has not been accepted yet. */
  #replaced = false;
  /** @throws TypeError for what callers without types may pass, as a setting that is not set */
  constructor(given, timers) {
    if (typeof given !== "string" && typeof given !== "function") {
      const is = given === null ? "null" : typeof given;
      throw new TypeError(`clientmcp: \`token\` must be a string or a function that yields one; it is ${is}`);
    }
    this.#given = given;
    this.#timers = timers;
  }
  /** Whether another token could be had at all. */
  get renewable() {
    return typeof this.#given === "function";
  }
  /**
   * The token for the next connection; asks only where the present one will not do.
   * @throws NoToken when asking again is useless; anything else is a failure that may pass
   */
  async next() {
    if (typeof this.#given === "string") return this.#token = checked(this.#given);
    if (this.#token !== void 0 && this.#refused !== this.#token) {
      if (this.#timers.now() < this.#renewAt) return this.#token;
      return this.ask("expiring");
    }
    if (this.#token === void 0) return this.ask("connect");
    const token = await this.ask("refused");
    if (token === this.#refused) throw new NoToken("the token callback gave the refused token again");
    this.#replaced = true;
    return token;
  }
  /** @throws NoToken when there is none; anything else is a failure that may pass */
  async ask(reason) {
    if (typeof this.#given === "string") return this.#given;
    const answer = await this.#withinTime(this.#given({ reason }));
    this.#token = checked(answer);
    return this.#token;
  }
  /** The bridge took the present token, and says how long it lives. */
  handleAccepted(expiresInMs) {
    this.#refused = void 0;
    this.#replaced = false;
    this.#renewAt = this.#timers.now() + (expiresInMs ?? Infinity) * RENEW_AT;
  }
  /** The bridge refused the present token: undefined if another may help, else why not. */
  handleRefused() {
    if (!this.renewable) return "the token is a fixed string, so there is no other to try";
    if (this.#replaced) return "a new token from the callback was refused as well";
    this.#refused = this.#token;
    return void 0;
  }
  /** Forgets everything, for a start that was asked for. */
  reset() {
    this.#token = this.#refused = void 0;
    this.#replaced = false;
    this.#renewAt = Infinity;
  }
  #withinTime(answer) {
    return new Promise((resolve, reject) => {
      const cancel = this.#timers.after(
        CALLBACK_TIMEOUT_MS,
        () => reject(new Error(`no token within ${CALLBACK_TIMEOUT_MS / 1e3} s`))
      );
      Promise.resolve(answer).then(resolve, reject).finally(cancel);
    });
  }
};
function checked(token) {
  const text = typeof token === "string" ? token.trim() : "";
  if (text === "") throw new NoToken("there is no token");
  if (!/^[\w.~+-]+$/.test(text)) {
    throw new NoToken("the token is no JWT: it has characters that cannot travel in a header");
  }
  return text;
}
var Renewal = class {
  #source;
  #timers;
  #send;
  #report;
  #cancel;
  #endsAt = Infinity;
  #inUse;
  /** @param send hands a new token to the bridge; `handleAccepted` follows if it was taken */
  constructor(source, timers, token, send, report) {
    this.#source = source;
    this.#timers = timers;
    this.#inUse = token;
    this.#send = send;
    this.#report = report;
  }
  handleAccepted(expiresInMs) {
    this.stop();
    this.#source.handleAccepted(expiresInMs);
    if (expiresInMs === void 0 || !this.#source.renewable) return;
    this.#endsAt = this.#timers.now() + expiresInMs;
    this.#renewAfter(expiresInMs * RENEW_AT);
  }
  stop() {
    this.#cancel?.();
    this.#cancel = void 0;
    this.#endsAt = Infinity;
  }
  #renewAfter(delayMs) {
    this.#cancel = this.#timers.after(delayMs, () => void this.#renew());
  }
  async #renew() {
    const endsAt = this.#endsAt;
    try {
      const token = await this.#source.ask("expiring");
      if (endsAt !== this.#endsAt) return;
      if (token !== this.#inUse) {
        this.#inUse = token;
        return this.#send(token);
      }
    } catch (error) {
      if (endsAt !== this.#endsAt) return;
      this.#report(`the token could not be renewed: ${messageOf(error)}`);
    }
    const left = endsAt - this.#timers.now();
    if (left > 0) this.#renewAfter(Math.max(left / 2, MIN_RENEW_DELAY_MS));
  }
};

// src/session.ts
var REGISTER_TIMEOUT_MS = 6e4;
var Session = class {
  limits = DEFAULT_LIMITS;
  /** counts up within the instance */
  connection;
  #parts;
  #socket;
  #renewal;
  #asked;
  #askAgain = false;
  #cancelDeadline = () => {
  };
  constructor(parts, url, token, connection) {
    const { environment, tokens } = parts;
    this.#parts = parts;
    this.connection = connection;
    this.#renewal = new Renewal(
      tokens,
      environment.timers,
      token,
      (renewed) => this.send(encodeMessage({ type: "auth", token: renewed })),
      (problem) => environment.logger.warn(`clientmcp: ${problem}`)
    );
    this.#socket = new Socket(environment, url, token, {
      opened: () => this.#handleOpened(),
      received: (message) => this.#handleMessage(message),
      closed: (code, reason) => this.#handleClosed(code, reason)
    });
  }
  get isOpen() {
    return this.#socket.isOpen;
  }
  send(text) {
    return this.#socket.send(text);
  }
  /** Registers again, since the content has changed; after the answer to an earlier register. */
  register() {
    if (!this.#socket.isOpen) return;
    if (this.#asked) this.#askAgain = true;
    else this.#register(false);
  }
  /** Asks for a sign of life. */
  probe() {
    this.#socket.probe();
  }
  /** Another session has taken over: this one only finishes what it carries. */
  retire() {
    this.#renewal.stop();
    this.#cancelDeadline();
  }
  close(code, reason) {
    this.retire();
    this.#socket.close(code, reason);
  }
  #handleOpened() {
    this.#cancelDeadline = this.#parts.environment.timers.after(
      REGISTER_TIMEOUT_MS,
      () => this.#giveUp(4408, `not registered within ${REGISTER_TIMEOUT_MS / 1e3} s`)
    );
    this.#register(false);
  }
  #register(full) {
    this.#askAgain = false;
    const { registrar, handlers } = this.#parts;
    this.#asked = registrar.registration(this.connection, handlers.isMoving(this), full);
    this.send(this.#asked.text);
  }
  #handleMessage(message) {
    switch (message.type) {
      case "registered":
        return this.#handleRegistered(message);
      case "need":
        return this.#handleNeed();
      case "authorized":
        return this.#renewal.handleAccepted(message.expiresInMs);
      default:
        return this.#parts.handlers.handleMessage(this, message);
    }
  }
  #handleRegistered(message) {
    if (!this.#asked) return;
    const { registrar, handlers } = this.#parts;
    registrar.handleRegistered(this.#asked, message);
    this.#asked = void 0;
    this.#cancelDeadline();
    this.limits = { ...DEFAULT_LIMITS, ...message.limits };
    this.#socket.keepAlive(this.limits.pingIntervalMs, this.limits.silenceTimeoutMs);
    this.#renewal.handleAccepted(message.expiresInMs);
    handlers.handleRegistered(this, message);
    if (this.#askAgain) this.#register(false);
  }
  #handleNeed() {
    if (!this.#asked) return;
    if (this.#asked.full) this.#giveUp(1002, "the bridge needs what it was given");
    else this.#register(true);
  }
  #giveUp(code, reason) {
    this.close(4408, "given up by the application's side");
    this.#parts.handlers.handleClosed(this, code, reason);
  }
  #handleClosed(code, reason) {
    this.retire();
    this.#parts.handlers.handleClosed(this, code, reason);
  }
};

// src/connector.ts
var RETIREMENT_MS = 3e4;
var Connector = class {
  #parts;
  #reconnect;
  #started = false;
  /** The registered session that is in use. */
  #current;
  /** The session on its way to take over. */
  #next;
  /** Sessions that were taken over from, with the end of their patience. */
  #retired = /* @__PURE__ */ new Map();
  /** Set while the next connection waits for its time. */
  #cancelWait;
  /** Identifies the attempt that is under way; answers that come for older ones are dropped. */
  #attempt = 0;
  /** An attempt waits for its token. */
  #askingToken = false;
  #connections = 0;
  #cancelWatch = () => {
  };
  constructor(parts) {
    this.#parts = parts;
    this.#reconnect = new Reconnect(parts.environment.random);
  }
  get current() {
    return this.#current;
  }
  get started() {
    return this.#started;
  }
  /** Connects, whatever stopped it before. */
  start() {
    if (this.#started) return;
    this.#started = true;
    this.#reconnect.reset();
    this.#parts.tokens.reset();
    this.#cancelWatch = this.#parts.environment.watchPage({
      handleOnline: () => this.#handleOnline(),
      handleVisible: () => this.#current?.probe()
    });
    void this.#open(this.#parts.url);
  }
  /** Leaves for good. */
  close() {
    if (this.#started) this.#stop(1e3, "closed by the application");
  }
  /** Registers again on whatever is connected. */
  register() {
    this.#current?.register();
    this.#next?.register();
  }
  async #open(url) {
    const attempt = ++this.#attempt;
    this.#cancelWait = void 0;
    this.#askingToken = true;
    if (!this.#current) this.#parts.handlers.handleStatus({ state: "connecting" });
    if (attempt !== this.#attempt) return;
    let token;
    try {
      token = await this.#parts.tokens.next();
      if (attempt !== this.#attempt) return;
      this.#askingToken = false;
    } catch (error) {
      if (attempt === this.#attempt) this.#handleNoToken(error);
      return;
    }
    this.#connect(url, token);
  }
  #connect(url, token) {
    const { environment, registrar, tokens } = this.#parts;
    const parts = { environment, registrar, tokens, handlers: this.#sessionHandlers };
    try {
      this.#next = new Session(parts, url, token, ++this.#connections);
    } catch (error) {
      this.#stop(void 0, `${url} is no URL of a WebSocket: ${messageOf(error)}`, true);
    }
  }
  #handleNoToken(error) {
    this.#askingToken = false;
    if (error instanceof NoToken) return this.#stop(4401, error.message, true);
    const reason = `the token callback failed: ${messageOf(error)}`;
    this.#parts.environment.logger.warn(`clientmcp: ${reason}`);
    this.#wait(this.#reconnect.nextDelay("backoff"), void 0, reason);
  }
  #sessionHandlers = {
    isMoving: (session) => this.#current !== void 0 && this.#current !== session,
    handleRegistered: (session, message) => {
      if (session === this.#next) this.#takeOver(session, message);
      if (session === this.#current) this.#parts.handlers.handleRegistered(message);
    },
    handleMessage: (session, message) => {
      if (message.type !== "move") this.#parts.handlers.handleMessage(session, message);
      else if (session === this.#current) this.#handleMove(message);
    },
    handleClosed: (session, code, reason) => {
      this.#handleClosed(session, code, reason);
    }
  };
  #takeOver(session, message) {
    const { timers } = this.#parts.environment;
    const previous = this.#current;
    this.#current = session;
    this.#next = void 0;
    this.#reconnect.handleRegistered(timers.now(), message.reconnectWithinMs, previous !== void 0);
    if (!previous) return;
    previous.retire();
    const letGo = timers.after(RETIREMENT_MS, () => {
      this.#retired.delete(previous);
      previous.close(1e3, "another connection took over");
    });
    this.#retired.set(previous, letGo);
  }
  /** The node wants to be rid of this application: the next connection first, then this one goes. */
  #handleMove(message) {
    if (this.#next || this.#askingToken || this.#cancelWait) return;
    this.#wait(this.#reconnect.moveDelay(message.withinMs), void 0, void 0, message.url);
  }
  #handleClosed(session, code, reason) {
    const patience = this.#retired.get(session);
    if (patience) {
      patience();
      this.#retired.delete(session);
      return;
    }
    const wasCurrent = session === this.#current;
    if (wasCurrent) this.#current = void 0;
    else if (session === this.#next) this.#next = void 0;
    else return;
    this.#followClose(code, closeText(code, reason), wasCurrent);
  }
  #followClose(code, reason, wasCurrent) {
    const { environment, tokens } = this.#parts;
    const plan = this.#reconnect.handleClosed(code, environment.timers.now(), wasCurrent);
    if (plan.kind === "stop") return this.#stop(code, reason, isReported(code));
    if (plan.kind === "token") {
      const hopeless = tokens.handleRefused();
      if (hopeless) return this.#stop(code, `${reason} (${hopeless})`, true);
    } else if (isReported(code)) {
      environment.logger.warn(`clientmcp: the connection was closed (${code}): ${reason}`);
    }
    if (wasCurrent && plan.kind === "retry" && (this.#next || this.#askingToken)) {
      this.#parts.handlers.handleStatus({ state: "connecting", code, reason });
      return;
    }
    this.#dropNext();
    this.#wait(plan.delayMs, code, reason);
  }
  #wait(delayMs, code, reason, url = this.#parts.url) {
    this.#cancelWait?.();
    this.#cancelWait = this.#parts.environment.timers.after(delayMs, () => void this.#open(url));
    if (this.#current) return;
    this.#parts.handlers.handleStatus({
      state: "offline",
      ...code !== void 0 && { code },
      ...reason !== void 0 && { reason },
      retryInMs: Math.round(delayMs)
    });
  }
  #handleOnline() {
    this.#current?.probe();
    if (this.#current || !this.#cancelWait) return;
    this.#cancelWait();
    void this.#open(this.#parts.url);
  }
  #dropNext() {
    this.#attempt++;
    this.#askingToken = false;
    this.#cancelWait?.();
    this.#cancelWait = void 0;
    this.#next?.close(1e3, "not needed any more");
    this.#next = void 0;
  }
  #stop(code, reason, reported = false) {
    this.#started = false;
    this.#dropNext();
    this.#cancelWatch();
    for (const [session, cancel] of this.#retired) {
      cancel();
      session.close(1e3, "the application stopped");
    }
    this.#retired.clear();
    this.#current?.close(1e3, "the application stopped");
    this.#current = void 0;
    if (reported) this.#parts.environment.logger.warn(`clientmcp: stopped: ${reason}`);
    this.#parts.handlers.handleStatus({ state: "stopped", ...code !== void 0 && { code }, reason });
  }
};

// src/calls.ts
var MEMORY_BOUNDS = {
  answerAgeMs: 12e4,
  answers: 128,
  answerBytes: 16 * 1024 * 1024,
  /** the longest deadline until one longer is seen */
  deadlineMs: 12e4,
  /** IDs are kept for the longest deadline and this much longer */
  idAgeBeyondDeadlineMs: 6e4,
  ids: 65536
};
var CallMemory = class {
  #bounds;
  #running = /* @__PURE__ */ new Set();
  /** Calls that ended, oldest first, with the time at which they did. */
  #ended = /* @__PURE__ */ new Map();
  /** The answers of those whose settlement is awaited, oldest first. */
  #answers = /* @__PURE__ */ new Map();
  #answerBytes = 0;
  #longestDeadlineMs;
  /** The greatest ID that was dropped before its time: greater ones (UUIDv7) have not been dropped. */
  #forgottenUpTo = "";
  constructor(bounds = MEMORY_BOUNDS) {
    this.#bounds = bounds;
    this.#longestDeadlineMs = bounds.deadlineMs;
  }
  /** @param attempt 0 for the first delivery of the call, as far as the bridge knows */
  handleDelivery(id, attempt, deadlineMs, now) {
    this.#expire(now);
    this.#longestDeadlineMs = Math.max(this.#longestDeadlineMs, deadlineMs);
    if (this.#running.has(id)) return { kind: "running" };
    const answer = this.#answers.get(id);
    if (answer) return { kind: "finished", answer: answer.text };
    if (this.#ended.has(id)) return { kind: "unknown" };
    if (attempt > 0 && id <= this.#forgottenUpTo) return { kind: "unknown" };
    this.#running.add(id);
    return { kind: "run" };
  }
  /** The call has ended with this answer. */
  handleFinished(id, answer, now) {
    if (!this.#running.delete(id)) return;
    this.#ended.set(id, now);
    const bytes = byteLength(answer);
    this.#answers.set(id, { text: answer, bytes, finishedAt: now });
    this.#answerBytes += bytes;
    this.#expire(now);
  }
  /** These calls' answers have arrived; only the IDs are worth keeping. */
  handleSettled(ids) {
    for (const id of ids) this.#dropAnswer(id);
  }
  #expire(now) {
    const { answerAgeMs, answers, answerBytes, ids } = this.#bounds;
    for (const [id, answer] of this.#answers) {
      const old = now - answer.finishedAt >= answerAgeMs;
      if (!old && this.#answers.size <= answers && this.#answerBytes <= answerBytes) break;
      this.#dropAnswer(id);
    }
    const idAgeMs = this.#longestDeadlineMs + this.#bounds.idAgeBeyondDeadlineMs;
    for (const [id, endedAt] of this.#ended) {
      const old = now - endedAt >= idAgeMs;
      if (!old && this.#ended.size <= ids) break;
      if (!old && id > this.#forgottenUpTo) this.#forgottenUpTo = id;
      this.#ended.delete(id);
      this.#dropAnswer(id);
    }
  }
  #dropAnswer(id) {
    this.#answerBytes -= this.#answers.get(id)?.bytes ?? 0;
    this.#answers.delete(id);
  }
};

// src/results.ts
var OUTCOME = "dev.clientmcp/outcome";
function answerOfThrown({ id, method, context = {} }, thrown) {
  const modern = isModern(context.protocolVersion);
  if (method === "tools/call" && !(thrown instanceof RpcError) && !(thrown instanceof ResourceNotFound)) {
    const text = messageOf(thrown) || "the tool failed";
    const missing = thrown instanceof MissingCapability;
    const result = { ...errorResult(text), ...missing && { _meta: { [OUTCOME]: "missing_capability" } } };
    return { type: "result", id, result };
  }
  return { type: "error", id, error: errorOf(thrown, modern) };
}
function errorResult(text) {
  return { content: [{ type: "text", text }], isError: true };
}
function errorOf(thrown, modern) {
  const message = messageOf(thrown);
  if (thrown instanceof RpcError) {
    const { code, data } = thrown;
    return { code, message, ...data !== void 0 && { data } };
  }
  if (thrown instanceof ResourceNotFound) {
    const code = modern ? INVALID_PARAMS : LEGACY_RESOURCE_NOT_FOUND;
    return { code, message, data: { uri: thrown.uri } };
  }
  if (thrown instanceof MissingCapability) {
    if (modern) return { code: MISSING_CAPABILITY, message, data: { requiredCapabilities: thrown.required } };
    return { code: LEGACY_MISSING_CAPABILITY, message, data: { outcome: "missing_capability" } };
  }
  return { code: INTERNAL_ERROR, message };
}
function encodeAnswer(answer, method, maxMessageBytes) {
  const { id } = answer;
  const encoded = tryEncode(answer, maxMessageBytes);
  if ("text" in encoded) return encoded.text;
  const { problem } = encoded;
  if (answer.type === "result" && method === "tools/call") {
    return encodeMessage({ type: "result", id, result: errorResult(problem) });
  }
  const code = answer.type === "error" ? answer.error.code : INTERNAL_ERROR;
  return encodeMessage({ type: "error", id, error: { code, message: problem } });
}
function tryEncode(answer, maxMessageBytes) {
  let text;
  try {
    text = encodeMessage(answer);
  } catch (error) {
    return { problem: `the result cannot be sent: ${messageOf(error)}` };
  }
  if (!fits(text, maxMessageBytes)) {
    const problem = `the result takes a message of ${byteLength(text)} bytes, and a message may be at most ${maxMessageBytes} bytes (maxMessageBytes): ask for less`;
    return { problem };
  }
  if (isShallow(text)) return { text };
  return { problem: `the result cannot be sent: it is nested deeper than ${MAX_DEPTH} levels` };
}

// src/random.ts
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// node_modules/@cfworker/json-schema/dist/esm/deep-compare-strict.js
function deepCompareStrict(a, b) {
  const typeofa = typeof a;
  if (typeofa !== typeof b) {
    return false;
  }
  const aIsArray = Array.isArray(a);
  const bIsArray = Array.isArray(b);
  if (aIsArray !== bIsArray) {
    return false;
  }
  if (aIsArray) {
    const length = a.length;
    if (length !== b.length) {
      return false;
    }
    for (let i = 0; i < length; i++) {
      if (!deepCompareStrict(a[i], b[i])) {
        return false;
      }
    }
    return true;
  }
  if (typeofa === "object") {
    if (!a || !b) {
      return a === b;
    }
    const aKeys = Object.keys(a);
    const bKeys = Object.keys(b);
    const length = aKeys.length;
    if (length !== bKeys.length) {
      return false;
    }
    for (const k of aKeys) {
      if (!Object.prototype.hasOwnProperty.call(b, k)) {
        return false;
      }
      if (!deepCompareStrict(a[k], b[k])) {
        return false;
      }
    }
    return true;
  }
  return a === b;
}

// node_modules/@cfworker/json-schema/dist/esm/pointer.js
function encodePointer(p) {
  return encodeURI(escapePointer(p)).replace(/#/g, "%23");
}
function escapePointer(p) {
  return p.replace(/~/g, "~0").replace(/\//g, "~1");
}

// node_modules/@cfworker/json-schema/dist/esm/dereference.js
var uriFragmentCharacter = /^[A-Za-z0-9._~!$&'()*+,;=:@/?-]$/;
var uriPercentEncoding = /^%[0-9A-Fa-f]{2}$/;
var uriUnreservedCharacter = /^[A-Za-z0-9._~-]$/;
function normalizeURIFragment(fragment) {
  let normalized = "";
  for (let index = 0; index < fragment.length; ) {
    const character = fragment[index];
    const encoded = fragment.slice(index, index + 3);
    if (character === "%" && uriPercentEncoding.test(encoded)) {
      const decoded = String.fromCharCode(parseInt(encoded.slice(1), 16));
      normalized += uriUnreservedCharacter.test(decoded) ? decoded : encoded.toUpperCase();
      index += 3;
      continue;
    }
    const codePoint = String.fromCodePoint(fragment.codePointAt(index));
    normalized += uriFragmentCharacter.test(codePoint) ? codePoint : encodeURIComponent(codePoint);
    index += codePoint.length;
  }
  return normalized;
}
function resolveURI(reference, baseURI) {
  const url = new URL(reference, baseURI.href);
  url.hash = url.hash ? normalizeURIFragment(url.hash.slice(1)) : "";
  return url;
}
var schemaArrayKeyword = {
  prefixItems: true,
  items: true,
  allOf: true,
  anyOf: true,
  oneOf: true
};
var schemaMapKeyword = {
  $defs: true,
  definitions: true,
  properties: true,
  patternProperties: true,
  dependentSchemas: true
};
var ignoredKeyword = {
  id: true,
  $id: true,
  $ref: true,
  $schema: true,
  $anchor: true,
  $vocabulary: true,
  $comment: true,
  default: true,
  enum: true,
  const: true,
  required: true,
  dependentRequired: true,
  type: true,
  maximum: true,
  minimum: true,
  exclusiveMaximum: true,
  exclusiveMinimum: true,
  multipleOf: true,
  maxLength: true,
  minLength: true,
  pattern: true,
  format: true,
  maxItems: true,
  minItems: true,
  uniqueItems: true,
  maxProperties: true,
  minProperties: true
};
var initialBaseURI = typeof self !== "undefined" && self.location && self.location.origin !== "null" ? new URL(self.location.origin + self.location.pathname + location.search) : new URL("https://github.com/cfworker");
function dereference(schema, lookup = /* @__PURE__ */ Object.create(null), baseURI = initialBaseURI, basePointer = "") {
  if (schema && typeof schema === "object" && !Array.isArray(schema)) {
    const id = schema.$id || schema["id"];
    if (id) {
      const url = resolveURI(id, baseURI);
      if (url.hash.length > 1) {
        lookup[url.href] = schema;
      } else {
        url.hash = "";
        if (basePointer === "") {
          baseURI = url;
        } else {
          dereference(schema, lookup, baseURI);
        }
      }
    }
  } else if (schema !== true && schema !== false) {
    return lookup;
  }
  const schemaURI = baseURI.href + (basePointer ? "#" + basePointer : "");
  if (lookup[schemaURI] !== void 0 && lookup[schemaURI] !== schema) {
    throw new Error(`Duplicate schema URI "${schemaURI}".`);
  }
  lookup[schemaURI] = schema;
  if (schema === true || schema === false) {
    return lookup;
  }
  if (schema.__absolute_uri__ === void 0) {
    Object.defineProperty(schema, "__absolute_uri__", {
      enumerable: false,
      value: schemaURI
    });
  }
  if (schema.$ref && schema.__absolute_ref__ === void 0) {
    const url = resolveURI(schema.$ref, baseURI);
    Object.defineProperty(schema, "__absolute_ref__", {
      enumerable: false,
      value: url.href
    });
  }
  if (schema.$recursiveRef && schema.__absolute_recursive_ref__ === void 0) {
    const url = resolveURI(schema.$recursiveRef, baseURI);
    Object.defineProperty(schema, "__absolute_recursive_ref__", {
      enumerable: false,
      value: url.href
    });
  }
  if (schema.$anchor) {
    const url = resolveURI("#" + schema.$anchor, baseURI);
    lookup[url.href] = schema;
  }
  for (let key in schema) {
    if (ignoredKeyword[key]) {
      continue;
    }
    const keyBase = `${basePointer}/${encodePointer(key)}`;
    const subSchema = schema[key];
    if (Array.isArray(subSchema)) {
      if (schemaArrayKeyword[key]) {
        const length = subSchema.length;
        for (let i = 0; i < length; i++) {
          dereference(subSchema[i], lookup, baseURI, `${keyBase}/${i}`);
        }
      }
    } else if (schemaMapKeyword[key]) {
      for (let subKey in subSchema) {
        dereference(subSchema[subKey], lookup, baseURI, `${keyBase}/${encodePointer(subKey)}`);
      }
    } else {
      dereference(subSchema, lookup, baseURI, keyBase);
    }
  }
  return lookup;
}

// node_modules/@cfworker/json-schema/dist/esm/format.js
var DATE = /^(\d\d\d\d)-(\d\d)-(\d\d)$/;
var DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
var TIME = /^(\d\d):(\d\d):(\d\d)(\.\d+)?(z|([+-])(\d\d):(\d\d))?$/i;
var HOSTNAME = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-0-9a-z]{0,61}[0-9a-z])?)*$/i;
var URIREF = /^(?:[a-z][a-z0-9+\-.]*:)?(?:\/?\/(?:(?:[a-z0-9\-._~!$&'()*+,;=:]|%[0-9a-f]{2})*@)?(?:\[(?:(?:(?:(?:[0-9a-f]{1,4}:){6}|::(?:[0-9a-f]{1,4}:){5}|(?:[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:){4}|(?:(?:[0-9a-f]{1,4}:){0,1}[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:){3}|(?:(?:[0-9a-f]{1,4}:){0,2}[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:){2}|(?:(?:[0-9a-f]{1,4}:){0,3}[0-9a-f]{1,4})?::[0-9a-f]{1,4}:|(?:(?:[0-9a-f]{1,4}:){0,4}[0-9a-f]{1,4})?::)(?:[0-9a-f]{1,4}:[0-9a-f]{1,4}|(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d\d?))|(?:(?:[0-9a-f]{1,4}:){0,5}[0-9a-f]{1,4})?::[0-9a-f]{1,4}|(?:(?:[0-9a-f]{1,4}:){0,6}[0-9a-f]{1,4})?::)|[Vv][0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+)\]|(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d\d?)|(?:[a-z0-9\-._~!$&'"()*+,;=]|%[0-9a-f]{2})*)(?::\d*)?(?:\/(?:[a-z0-9\-._~!$&'"()*+,;=:@]|%[0-9a-f]{2})*)*|\/(?:(?:[a-z0-9\-._~!$&'"()*+,;=:@]|%[0-9a-f]{2})+(?:\/(?:[a-z0-9\-._~!$&'"()*+,;=:@]|%[0-9a-f]{2})*)*)?|(?:[a-z0-9\-._~!$&'"()*+,;=:@]|%[0-9a-f]{2})+(?:\/(?:[a-z0-9\-._~!$&'"()*+,;=:@]|%[0-9a-f]{2})*)*)?(?:\?(?:[a-z0-9\-._~!$&'"()*+,;=:@/?]|%[0-9a-f]{2})*)?(?:#(?:[a-z0-9\-._~!$&'"()*+,;=:@/?]|%[0-9a-f]{2})*)?$/i;
var URITEMPLATE = /^(?:(?:[^\x00-\x20\x7f"<>%\\^`{|}]|%[0-9a-f]{2})|\{[+#./;?&=,!@|]?(?:[a-z0-9_]|%[0-9a-f]{2})+(?:\.(?:[a-z0-9_]|%[0-9a-f]{2})+)*(?::[1-9][0-9]{0,3}|\*)?(?:,(?:[a-z0-9_]|%[0-9a-f]{2})+(?:\.(?:[a-z0-9_]|%[0-9a-f]{2})+)*(?::[1-9][0-9]{0,3}|\*)?)*\})*$/i;
var URL_ = /^(?:(?:https?|ftp):\/\/)(?:\S+(?::\S*)?@)?(?:(?!10(?:\.\d{1,3}){3})(?!127(?:\.\d{1,3}){3})(?!169\.254(?:\.\d{1,3}){2})(?!192\.168(?:\.\d{1,3}){2})(?!172\.(?:1[6-9]|2\d|3[0-1])(?:\.\d{1,3}){2})(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}(?:\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4]))|(?:(?:[a-z\u{00a1}-\u{ffff}0-9]+-?)*[a-z\u{00a1}-\u{ffff}0-9]+)(?:\.(?:[a-z\u{00a1}-\u{ffff}0-9]+-?)*[a-z\u{00a1}-\u{ffff}0-9]+)*(?:\.(?:[a-z\u{00a1}-\u{ffff}]{2,})))(?::\d{2,5})?(?:\/[^\s]*)?$/iu;
var UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
var JSON_POINTER = /^(?:\/(?:[^~/]|~0|~1)*)*$/;
var JSON_POINTER_URI_FRAGMENT = /^#(?:\/(?:[a-z0-9_\-.!$&'()*+,;:=@]|%[0-9a-f]{2}|~0|~1)*)*$/i;
var RELATIVE_JSON_POINTER = /^(?:0|[1-9][0-9]*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/;
var EMAIL_ADDRESS = /^("(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"|[a-z0-9.!#$%&'*+/=?^_`{|}~-]+)@(.+)$/i;
var EMAIL = (input) => {
  const matches = input.match(EMAIL_ADDRESS);
  if (!matches)
    return false;
  const name = matches[1];
  const host = matches[2];
  if (!name || !host || name.length > 64 || host.length > 253)
    return false;
  if (name[0] !== '"' && (name[0] === "." || name.endsWith(".") || name.includes(".."))) {
    return false;
  }
  if (host.startsWith("[") && host.endsWith("]")) {
    const address = host.slice(1, -1);
    if (/^ipv6:/i.test(address))
      return IPV6.test(address.slice(5));
    return IPV4.test(address);
  }
  return HOSTNAME.test(host);
};
var IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d\d?)$/;
var IPV6 = /^((([0-9a-f]{1,4}:){7}([0-9a-f]{1,4}|:))|(([0-9a-f]{1,4}:){6}(:[0-9a-f]{1,4}|((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3})|:))|(([0-9a-f]{1,4}:){5}(((:[0-9a-f]{1,4}){1,2})|:((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3})|:))|(([0-9a-f]{1,4}:){4}(((:[0-9a-f]{1,4}){1,3})|((:[0-9a-f]{1,4})?:((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}))|:))|(([0-9a-f]{1,4}:){3}(((:[0-9a-f]{1,4}){1,4})|((:[0-9a-f]{1,4}){0,2}:((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}))|:))|(([0-9a-f]{1,4}:){2}(((:[0-9a-f]{1,4}){1,5})|((:[0-9a-f]{1,4}){0,3}:((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}))|:))|(([0-9a-f]{1,4}:){1}(((:[0-9a-f]{1,4}){1,6})|((:[0-9a-f]{1,4}){0,4}:((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}))|:))|(:(((:[0-9a-f]{1,4}){1,7})|((:[0-9a-f]{1,4}){0,5}:((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}))|:)))$/i;
var DURATION = (input) => /^P(?:\d+W|(?:(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)(?:T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S))?|T(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)))$/.test(input);
function bind(r) {
  return r.test.bind(r);
}
var format = {
  date,
  time: time.bind(void 0, true),
  "date-time": date_time,
  duration: DURATION,
  uri,
  "uri-reference": bind(URIREF),
  "uri-template": bind(URITEMPLATE),
  url: bind(URL_),
  email: EMAIL,
  hostname: bind(HOSTNAME),
  ipv4: bind(IPV4),
  ipv6: bind(IPV6),
  regex,
  uuid: bind(UUID),
  "json-pointer": bind(JSON_POINTER),
  "json-pointer-uri-fragment": bind(JSON_POINTER_URI_FRAGMENT),
  "relative-json-pointer": bind(RELATIVE_JSON_POINTER)
};
function isLeapYear(year) {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}
function date(str) {
  const matches = str.match(DATE);
  if (!matches)
    return false;
  const yearPart = matches[1];
  const monthPart = matches[2];
  const dayPart = matches[3];
  if (!yearPart || !monthPart || !dayPart)
    return false;
  const year = +yearPart;
  const month = +monthPart;
  const day = +dayPart;
  const maxDay = month == 2 && isLeapYear(year) ? 29 : DAYS[month];
  return month >= 1 && month <= 12 && day >= 1 && maxDay !== void 0 && day <= maxDay;
}
function time(full, str) {
  const matches = str.match(TIME);
  if (!matches)
    return false;
  const hourPart = matches[1];
  const minutePart = matches[2];
  const secondPart = matches[3];
  if (!hourPart || !minutePart || !secondPart)
    return false;
  const hour = +hourPart;
  const minute = +minutePart;
  const second = +secondPart;
  const timeZone = matches[5];
  const offsetSign = matches[6];
  const offsetHour = +(matches[7] ?? 0);
  const offsetMinute = +(matches[8] ?? 0);
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59 || full && timeZone === void 0) {
    return false;
  }
  if (second < 60)
    return true;
  const offsetDirection = offsetSign === "+" ? 1 : offsetSign === "-" ? -1 : 0;
  const utcMinute = (hour * 60 + minute - offsetDirection * (offsetHour * 60 + offsetMinute) + 24 * 60) % (24 * 60);
  return utcMinute === 23 * 60 + 59;
}
var DATE_TIME_SEPARATOR = /t|\s/i;
function date_time(str) {
  const [datePart, timePart, extra] = str.split(DATE_TIME_SEPARATOR);
  return datePart !== void 0 && timePart !== void 0 && extra === void 0 && date(datePart) && time(true, timePart);
}
var NOT_URI_FRAGMENT = /\/|:/;
var URI_PATTERN = /^(?:[a-z][a-z0-9+\-.]*:)(?:\/?\/(?:(?:[a-z0-9\-._~!$&'()*+,;=:]|%[0-9a-f]{2})*@)?(?:\[(?:(?:(?:(?:[0-9a-f]{1,4}:){6}|::(?:[0-9a-f]{1,4}:){5}|(?:[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:){4}|(?:(?:[0-9a-f]{1,4}:){0,1}[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:){3}|(?:(?:[0-9a-f]{1,4}:){0,2}[0-9a-f]{1,4})?::(?:[0-9a-f]{1,4}:){2}|(?:(?:[0-9a-f]{1,4}:){0,3}[0-9a-f]{1,4})?::[0-9a-f]{1,4}:|(?:(?:[0-9a-f]{1,4}:){0,4}[0-9a-f]{1,4})?::)(?:[0-9a-f]{1,4}:[0-9a-f]{1,4}|(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d\d?))|(?:(?:[0-9a-f]{1,4}:){0,5}[0-9a-f]{1,4})?::[0-9a-f]{1,4}|(?:(?:[0-9a-f]{1,4}:){0,6}[0-9a-f]{1,4})?::)|[Vv][0-9a-f]+\.[a-z0-9\-._~!$&'()*+,;=:]+)\]|(?:(?:25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(?:25[0-5]|2[0-4]\d|[01]?\d\d?)|(?:[a-z0-9\-._~!$&'()*+,;=]|%[0-9a-f]{2})*)(?::\d*)?(?:\/(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})*)*|\/(?:(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})+(?:\/(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})*)*)?|(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})+(?:\/(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})*)*)(?:\?(?:[a-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*)?(?:#(?:[a-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9a-f]{2})*)?$/i;
function uri(str) {
  return NOT_URI_FRAGMENT.test(str) && URI_PATTERN.test(str);
}
var Z_ANCHOR = /[^\\]\\Z/;
function regex(str) {
  if (Z_ANCHOR.test(str))
    return false;
  try {
    new RegExp(str, "u");
    return true;
  } catch (e) {
    return false;
  }
}

// node_modules/@cfworker/json-schema/dist/esm/ucs2-length.js
function ucs2length(s) {
  let result = 0;
  let length = s.length;
  let index = 0;
  let charCode;
  while (index < length) {
    result++;
    charCode = s.charCodeAt(index++);
    if (charCode >= 55296 && charCode <= 56319 && index < length) {
      charCode = s.charCodeAt(index);
      if ((charCode & 64512) == 56320) {
        index++;
      }
    }
  }
  return result;
}

// node_modules/@cfworker/json-schema/dist/esm/validate.js
function hasOwnProperty(instance, key) {
  return Object.prototype.hasOwnProperty.call(instance, key);
}
function decimalInteger(value) {
  const coefficientAndExponent = Math.abs(value).toString().split("e");
  const coefficient = coefficientAndExponent[0];
  const exponent = coefficientAndExponent[1] ?? "0";
  const point = coefficient.indexOf(".");
  const fractionLength = point === -1 ? 0 : coefficient.length - point - 1;
  return [
    BigInt(coefficient.replace(".", "")),
    Number(exponent) - fractionLength
  ];
}
function isMultipleOf(instance, divisor) {
  if (!Number.isFinite(instance) || !Number.isFinite(divisor) || divisor <= 0) {
    return false;
  }
  const [instanceCoefficient, instanceExponent] = decimalInteger(instance);
  const [divisorCoefficient, divisorExponent] = decimalInteger(divisor);
  const exponentDifference = instanceExponent - divisorExponent;
  if (exponentDifference >= 0) {
    return instanceCoefficient * 10n ** BigInt(exponentDifference) % divisorCoefficient === 0n;
  }
  return instanceCoefficient % (divisorCoefficient * 10n ** BigInt(-exponentDifference)) === 0n;
}
function validate(instance, schema, draft = "2019-09", lookup = dereference(schema), shortCircuit = true, recursiveAnchor = null, instanceLocation = "#", schemaLocation = "#", evaluated = /* @__PURE__ */ Object.create(null)) {
  if (schema === true) {
    return { valid: true, errors: [] };
  }
  if (schema === false) {
    return {
      valid: false,
      errors: [
        {
          instanceLocation,
          keyword: "false",
          keywordLocation: instanceLocation,
          error: "False boolean schema."
        }
      ]
    };
  }
  const rawInstanceType = typeof instance;
  let instanceType;
  switch (rawInstanceType) {
    case "boolean":
    case "number":
    case "string":
      instanceType = rawInstanceType;
      break;
    case "object":
      if (instance === null) {
        instanceType = "null";
      } else if (Array.isArray(instance)) {
        instanceType = "array";
      } else {
        instanceType = "object";
      }
      break;
    default:
      throw new Error(`Instances of "${rawInstanceType}" type are not supported.`);
  }
  const { $ref, $recursiveRef, $recursiveAnchor, type: $type, const: $const, enum: $enum, required: $required, not: $not, anyOf: $anyOf, allOf: $allOf, oneOf: $oneOf, if: $if, then: $then, else: $else, format: $format, properties: $properties, patternProperties: $patternProperties, additionalProperties: $additionalProperties, unevaluatedProperties: $unevaluatedProperties, minProperties: $minProperties, maxProperties: $maxProperties, propertyNames: $propertyNames, dependentRequired: $dependentRequired, dependentSchemas: $dependentSchemas, dependencies: $dependencies, prefixItems: $prefixItems, items: $items, additionalItems: $additionalItems, unevaluatedItems: $unevaluatedItems, contains: $contains, minContains: $minContains, maxContains: $maxContains, minItems: $minItems, maxItems: $maxItems, uniqueItems: $uniqueItems, minimum: $minimum, maximum: $maximum, exclusiveMinimum: $exclusiveMinimum, exclusiveMaximum: $exclusiveMaximum, multipleOf: $multipleOf, minLength: $minLength, maxLength: $maxLength, pattern: $pattern, __absolute_ref__, __absolute_recursive_ref__ } = schema;
  const errors = [];
  if ($recursiveAnchor === true && recursiveAnchor === null) {
    recursiveAnchor = schema;
  }
  if ($recursiveRef === "#") {
    const refSchema = recursiveAnchor === null ? lookup[__absolute_recursive_ref__] : recursiveAnchor;
    const keywordLocation = `${schemaLocation}/$recursiveRef`;
    const result = validate(instance, recursiveAnchor === null ? schema : recursiveAnchor, draft, lookup, shortCircuit, refSchema, instanceLocation, keywordLocation, evaluated);
    if (!result.valid) {
      errors.push({
        instanceLocation,
        keyword: "$recursiveRef",
        keywordLocation,
        error: "A subschema had errors."
      }, ...result.errors);
    }
  }
  if ($ref !== void 0) {
    const uri2 = __absolute_ref__ || $ref;
    const refSchema = lookup[uri2];
    if (refSchema === void 0) {
      let message = `Unresolved $ref "${$ref}".`;
      if (__absolute_ref__ && __absolute_ref__ !== $ref) {
        message += `  Absolute URI "${__absolute_ref__}".`;
      }
      message += `
Known schemas:
- ${Object.keys(lookup).join("\n- ")}`;
      throw new Error(message);
    }
    const keywordLocation = `${schemaLocation}/$ref`;
    const result = validate(instance, refSchema, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, keywordLocation, evaluated);
    if (!result.valid) {
      errors.push({
        instanceLocation,
        keyword: "$ref",
        keywordLocation,
        error: "A subschema had errors."
      }, ...result.errors);
    }
    if (draft === "4" || draft === "7") {
      return { valid: errors.length === 0, errors };
    }
  }
  if (Array.isArray($type)) {
    let length = $type.length;
    let valid = false;
    for (let i = 0; i < length; i++) {
      if (instanceType === $type[i] || $type[i] === "integer" && instanceType === "number" && instance % 1 === 0 && instance === instance) {
        valid = true;
        break;
      }
    }
    if (!valid) {
      errors.push({
        instanceLocation,
        keyword: "type",
        keywordLocation: `${schemaLocation}/type`,
        error: `Instance type "${instanceType}" is invalid. Expected "${$type.join('", "')}".`
      });
    }
  } else if ($type === "integer") {
    if (instanceType !== "number" || instance % 1 || instance !== instance) {
      errors.push({
        instanceLocation,
        keyword: "type",
        keywordLocation: `${schemaLocation}/type`,
        error: `Instance type "${instanceType}" is invalid. Expected "${$type}".`
      });
    }
  } else if ($type !== void 0 && instanceType !== $type) {
    errors.push({
      instanceLocation,
      keyword: "type",
      keywordLocation: `${schemaLocation}/type`,
      error: `Instance type "${instanceType}" is invalid. Expected "${$type}".`
    });
  }
  if ($const !== void 0) {
    if (instanceType === "object" || instanceType === "array") {
      if (!deepCompareStrict(instance, $const)) {
        errors.push({
          instanceLocation,
          keyword: "const",
          keywordLocation: `${schemaLocation}/const`,
          error: `Instance does not match ${JSON.stringify($const)}.`
        });
      }
    } else if (instance !== $const) {
      errors.push({
        instanceLocation,
        keyword: "const",
        keywordLocation: `${schemaLocation}/const`,
        error: `Instance does not match ${JSON.stringify($const)}.`
      });
    }
  }
  if ($enum !== void 0) {
    if (instanceType === "object" || instanceType === "array") {
      if (!$enum.some((value) => deepCompareStrict(instance, value))) {
        errors.push({
          instanceLocation,
          keyword: "enum",
          keywordLocation: `${schemaLocation}/enum`,
          error: `Instance does not match any of ${JSON.stringify($enum)}.`
        });
      }
    } else if (!$enum.some((value) => instance === value)) {
      errors.push({
        instanceLocation,
        keyword: "enum",
        keywordLocation: `${schemaLocation}/enum`,
        error: `Instance does not match any of ${JSON.stringify($enum)}.`
      });
    }
  }
  if ($not !== void 0) {
    const keywordLocation = `${schemaLocation}/not`;
    const result = validate(instance, $not, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, keywordLocation);
    if (result.valid) {
      errors.push({
        instanceLocation,
        keyword: "not",
        keywordLocation,
        error: 'Instance matched "not" schema.'
      });
    }
  }
  let subEvaluateds = [];
  if ($anyOf !== void 0) {
    const keywordLocation = `${schemaLocation}/anyOf`;
    const errorsLength = errors.length;
    let anyValid = false;
    for (const [i, subSchema] of $anyOf.entries()) {
      const subEvaluated = Object.create(evaluated);
      const result = validate(instance, subSchema, draft, lookup, shortCircuit, $recursiveAnchor === true ? recursiveAnchor : null, instanceLocation, `${keywordLocation}/${i}`, subEvaluated);
      errors.push(...result.errors);
      anyValid = anyValid || result.valid;
      if (result.valid) {
        subEvaluateds.push(subEvaluated);
      }
    }
    if (anyValid) {
      errors.length = errorsLength;
    } else {
      errors.splice(errorsLength, 0, {
        instanceLocation,
        keyword: "anyOf",
        keywordLocation,
        error: "Instance does not match any subschemas."
      });
    }
  }
  if ($allOf !== void 0) {
    const keywordLocation = `${schemaLocation}/allOf`;
    const errorsLength = errors.length;
    let allValid = true;
    for (const [i, subSchema] of $allOf.entries()) {
      const subEvaluated = Object.create(evaluated);
      const result = validate(instance, subSchema, draft, lookup, shortCircuit, $recursiveAnchor === true ? recursiveAnchor : null, instanceLocation, `${keywordLocation}/${i}`, subEvaluated);
      errors.push(...result.errors);
      allValid = allValid && result.valid;
      if (result.valid) {
        subEvaluateds.push(subEvaluated);
      }
    }
    if (allValid) {
      errors.length = errorsLength;
    } else {
      errors.splice(errorsLength, 0, {
        instanceLocation,
        keyword: "allOf",
        keywordLocation,
        error: `Instance does not match every subschema.`
      });
    }
  }
  if ($oneOf !== void 0) {
    const keywordLocation = `${schemaLocation}/oneOf`;
    const errorsLength = errors.length;
    const matches = $oneOf.filter((subSchema, i) => {
      const subEvaluated = Object.create(evaluated);
      const result = validate(instance, subSchema, draft, lookup, shortCircuit, $recursiveAnchor === true ? recursiveAnchor : null, instanceLocation, `${keywordLocation}/${i}`, subEvaluated);
      errors.push(...result.errors);
      if (result.valid) {
        subEvaluateds.push(subEvaluated);
      }
      return result.valid;
    }).length;
    if (matches === 1) {
      errors.length = errorsLength;
    } else {
      errors.splice(errorsLength, 0, {
        instanceLocation,
        keyword: "oneOf",
        keywordLocation,
        error: `Instance does not match exactly one subschema (${matches} matches).`
      });
    }
  }
  if (instanceType === "object" || instanceType === "array") {
    Object.assign(evaluated, ...subEvaluateds);
  }
  if ($if !== void 0) {
    const keywordLocation = `${schemaLocation}/if`;
    const ifEvaluated = /* @__PURE__ */ Object.create(null);
    const conditionResult = validate(instance, $if, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, keywordLocation, ifEvaluated).valid;
    if (conditionResult) {
      Object.assign(evaluated, ifEvaluated);
      if ($then !== void 0) {
        const thenResult = validate(instance, $then, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, `${schemaLocation}/then`, evaluated);
        if (!thenResult.valid) {
          errors.push({
            instanceLocation,
            keyword: "if",
            keywordLocation,
            error: `Instance does not match "then" schema.`
          }, ...thenResult.errors);
        }
      }
    } else if ($else !== void 0) {
      const elseResult = validate(instance, $else, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, `${schemaLocation}/else`, evaluated);
      if (!elseResult.valid) {
        errors.push({
          instanceLocation,
          keyword: "if",
          keywordLocation,
          error: `Instance does not match "else" schema.`
        }, ...elseResult.errors);
      }
    }
  }
  if (instanceType === "object") {
    if ($required !== void 0) {
      for (const key of $required) {
        if (!hasOwnProperty(instance, key)) {
          errors.push({
            instanceLocation,
            keyword: "required",
            keywordLocation: `${schemaLocation}/required`,
            error: `Instance does not have required property "${key}".`
          });
        }
      }
    }
    const keys = Object.keys(instance);
    if ($minProperties !== void 0 && keys.length < $minProperties) {
      errors.push({
        instanceLocation,
        keyword: "minProperties",
        keywordLocation: `${schemaLocation}/minProperties`,
        error: `Instance does not have at least ${$minProperties} properties.`
      });
    }
    if ($maxProperties !== void 0 && keys.length > $maxProperties) {
      errors.push({
        instanceLocation,
        keyword: "maxProperties",
        keywordLocation: `${schemaLocation}/maxProperties`,
        error: `Instance does not have at least ${$maxProperties} properties.`
      });
    }
    if ($propertyNames !== void 0) {
      const keywordLocation = `${schemaLocation}/propertyNames`;
      for (const key in instance) {
        const subInstancePointer = `${instanceLocation}/${encodePointer(key)}`;
        const result = validate(key, $propertyNames, draft, lookup, shortCircuit, recursiveAnchor, subInstancePointer, keywordLocation);
        if (!result.valid) {
          errors.push({
            instanceLocation,
            keyword: "propertyNames",
            keywordLocation,
            error: `Property name "${key}" does not match schema.`
          }, ...result.errors);
        }
      }
    }
    if ($dependentRequired !== void 0) {
      const keywordLocation = `${schemaLocation}/dependantRequired`;
      for (const key in $dependentRequired) {
        if (hasOwnProperty(instance, key)) {
          const required = $dependentRequired[key];
          for (const dependantKey of required) {
            if (!hasOwnProperty(instance, dependantKey)) {
              errors.push({
                instanceLocation,
                keyword: "dependentRequired",
                keywordLocation,
                error: `Instance has "${key}" but does not have "${dependantKey}".`
              });
            }
          }
        }
      }
    }
    if ($dependentSchemas !== void 0) {
      for (const [key, dependentSchema] of Object.entries($dependentSchemas)) {
        const keywordLocation = `${schemaLocation}/dependentSchemas`;
        if (hasOwnProperty(instance, key)) {
          const result = validate(instance, dependentSchema, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, `${keywordLocation}/${encodePointer(key)}`, evaluated);
          if (!result.valid) {
            errors.push({
              instanceLocation,
              keyword: "dependentSchemas",
              keywordLocation,
              error: `Instance has "${key}" but does not match dependant schema.`
            }, ...result.errors);
          }
        }
      }
    }
    if ($dependencies !== void 0) {
      const keywordLocation = `${schemaLocation}/dependencies`;
      for (const key in $dependencies) {
        if (hasOwnProperty(instance, key)) {
          const propsOrSchema = $dependencies[key];
          if (Array.isArray(propsOrSchema)) {
            for (const dependantKey of propsOrSchema) {
              if (!hasOwnProperty(instance, dependantKey)) {
                errors.push({
                  instanceLocation,
                  keyword: "dependencies",
                  keywordLocation,
                  error: `Instance has "${key}" but does not have "${dependantKey}".`
                });
              }
            }
          } else {
            const result = validate(instance, propsOrSchema, draft, lookup, shortCircuit, recursiveAnchor, instanceLocation, `${keywordLocation}/${encodePointer(key)}`);
            if (!result.valid) {
              errors.push({
                instanceLocation,
                keyword: "dependencies",
                keywordLocation,
                error: `Instance has "${key}" but does not match dependant schema.`
              }, ...result.errors);
            }
          }
        }
      }
    }
    const thisEvaluated = /* @__PURE__ */ Object.create(null);
    let stop = false;
    if ($properties !== void 0) {
      const keywordLocation = `${schemaLocation}/properties`;
      for (const [key, propertySchema] of Object.entries($properties)) {
        if (!hasOwnProperty(instance, key)) {
          continue;
        }
        const subInstancePointer = `${instanceLocation}/${encodePointer(key)}`;
        const result = validate(instance[key], propertySchema, draft, lookup, shortCircuit, recursiveAnchor, subInstancePointer, `${keywordLocation}/${encodePointer(key)}`);
        thisEvaluated[key] = true;
        if (result.valid) {
          evaluated[key] = true;
        } else {
          stop = shortCircuit;
          errors.push({
            instanceLocation,
            keyword: "properties",
            keywordLocation,
            error: `Property "${key}" does not match schema.`
          }, ...result.errors);
          if (stop)
            break;
        }
      }
    }
    if (!stop && $patternProperties !== void 0) {
      const keywordLocation = `${schemaLocation}/patternProperties`;
      for (const [pattern, subSchema] of Object.entries($patternProperties)) {
        const regex2 = new RegExp(pattern, "u");
        for (const key in instance) {
          if (!regex2.test(key)) {
            continue;
          }
          const subInstancePointer = `${instanceLocation}/${encodePointer(key)}`;
          const result = validate(instance[key], subSchema, draft, lookup, shortCircuit, recursiveAnchor, subInstancePointer, `${keywordLocation}/${encodePointer(pattern)}`);
          thisEvaluated[key] = true;
          if (result.valid) {
            evaluated[key] = true;
          } else {
            stop = shortCircuit;
            errors.push({
              instanceLocation,
              keyword: "patternProperties",
              keywordLocation,
              error: `Property "${key}" matches pattern "${pattern}" but does not match associated schema.`
            }, ...result.errors);
          }
        }
      }
    }
    if (!stop && $additionalProperties !== void 0) {
      const keywordLocation = `${schemaLocation}/additionalProperties`;
      for (const key in instance) {
        if (thisEvaluated[key]) {
          continue;
        }
        const subInstancePointer = `${instanceLocation}/${encodePointer(key)}`;
        const result = validate(instance[key], $additionalProperties, draft, lookup, shortCircuit, recursiveAnchor, subInstancePointer, keywordLocation);
        if (result.valid) {
          evaluated[key] = true;
        } else {
          stop = shortCircuit;
          errors.push({
            instanceLocation,
            keyword: "additionalProperties",
            keywordLocation,
            error: `Property "${key}" does not match additional properties schema.`
          }, ...result.errors);
        }
      }
    } else if (!stop && $unevaluatedProperties !== void 0) {
      const keywordLocation = `${schemaLocation}/unevaluatedProperties`;
      for (const key in instance) {
        if (!evaluated[key]) {
          const subInstancePointer = `${instanceLocation}/${encodePointer(key)}`;
          const result = validate(instance[key], $unevaluatedProperties, draft, lookup, shortCircuit, recursiveAnchor, subInstancePointer, keywordLocation);
          if (result.valid) {
            evaluated[key] = true;
          } else {
            errors.push({
              instanceLocation,
              keyword: "unevaluatedProperties",
              keywordLocation,
              error: `Property "${key}" does not match unevaluated properties schema.`
            }, ...result.errors);
          }
        }
      }
    }
  } else if (instanceType === "array") {
    if ($maxItems !== void 0 && instance.length > $maxItems) {
      errors.push({
        instanceLocation,
        keyword: "maxItems",
        keywordLocation: `${schemaLocation}/maxItems`,
        error: `Array has too many items (${instance.length} > ${$maxItems}).`
      });
    }
    if ($minItems !== void 0 && instance.length < $minItems) {
      errors.push({
        instanceLocation,
        keyword: "minItems",
        keywordLocation: `${schemaLocation}/minItems`,
        error: `Array has too few items (${instance.length} < ${$minItems}).`
      });
    }
    const length = instance.length;
    let i = 0;
    let stop = false;
    if ($prefixItems !== void 0) {
      const keywordLocation = `${schemaLocation}/prefixItems`;
      const length2 = Math.min($prefixItems.length, length);
      for (; i < length2; i++) {
        const result = validate(instance[i], $prefixItems[i], draft, lookup, shortCircuit, recursiveAnchor, `${instanceLocation}/${i}`, `${keywordLocation}/${i}`);
        evaluated[i] = true;
        if (!result.valid) {
          stop = shortCircuit;
          errors.push({
            instanceLocation,
            keyword: "prefixItems",
            keywordLocation,
            error: `Items did not match schema.`
          }, ...result.errors);
          if (stop)
            break;
        }
      }
    }
    if ($items !== void 0) {
      const keywordLocation = `${schemaLocation}/items`;
      if (Array.isArray($items)) {
        const length2 = Math.min($items.length, length);
        for (; i < length2; i++) {
          const result = validate(instance[i], $items[i], draft, lookup, shortCircuit, recursiveAnchor, `${instanceLocation}/${i}`, `${keywordLocation}/${i}`);
          evaluated[i] = true;
          if (!result.valid) {
            stop = shortCircuit;
            errors.push({
              instanceLocation,
              keyword: "items",
              keywordLocation,
              error: `Items did not match schema.`
            }, ...result.errors);
            if (stop)
              break;
          }
        }
      } else {
        for (; i < length; i++) {
          const result = validate(instance[i], $items, draft, lookup, shortCircuit, recursiveAnchor, `${instanceLocation}/${i}`, keywordLocation);
          evaluated[i] = true;
          if (!result.valid) {
            stop = shortCircuit;
            errors.push({
              instanceLocation,
              keyword: "items",
              keywordLocation,
              error: `Items did not match schema.`
            }, ...result.errors);
            if (stop)
              break;
          }
        }
      }
      if (!stop && $additionalItems !== void 0) {
        const keywordLocation2 = `${schemaLocation}/additionalItems`;
        for (; i < length; i++) {
          const result = validate(instance[i], $additionalItems, draft, lookup, shortCircuit, recursiveAnchor, `${instanceLocation}/${i}`, keywordLocation2);
          evaluated[i] = true;
          if (!result.valid) {
            stop = shortCircuit;
            errors.push({
              instanceLocation,
              keyword: "additionalItems",
              keywordLocation: keywordLocation2,
              error: `Items did not match additional items schema.`
            }, ...result.errors);
          }
        }
      }
    }
    if ($contains !== void 0) {
      if (length === 0 && $minContains === void 0) {
        errors.push({
          instanceLocation,
          keyword: "contains",
          keywordLocation: `${schemaLocation}/contains`,
          error: `Array is empty. It must contain at least one item matching the schema.`
        });
      } else if ($minContains !== void 0 && length < $minContains) {
        errors.push({
          instanceLocation,
          keyword: "minContains",
          keywordLocation: `${schemaLocation}/minContains`,
          error: `Array has less items (${length}) than minContains (${$minContains}).`
        });
      } else {
        const keywordLocation = `${schemaLocation}/contains`;
        const errorsLength = errors.length;
        let contained = 0;
        for (let j = 0; j < length; j++) {
          const result = validate(instance[j], $contains, draft, lookup, shortCircuit, recursiveAnchor, `${instanceLocation}/${j}`, keywordLocation);
          if (result.valid) {
            evaluated[j] = true;
            contained++;
          } else {
            errors.push(...result.errors);
          }
        }
        if (contained >= ($minContains || 0)) {
          errors.length = errorsLength;
        }
        if ($minContains === void 0 && contained === 0) {
          errors.splice(errorsLength, 0, {
            instanceLocation,
            keyword: "contains",
            keywordLocation,
            error: `Array does not contain item matching schema.`
          });
        } else if ($minContains !== void 0 && contained < $minContains) {
          errors.push({
            instanceLocation,
            keyword: "minContains",
            keywordLocation: `${schemaLocation}/minContains`,
            error: `Array must contain at least ${$minContains} items matching schema. Only ${contained} items were found.`
          });
        } else if ($maxContains !== void 0 && contained > $maxContains) {
          errors.push({
            instanceLocation,
            keyword: "maxContains",
            keywordLocation: `${schemaLocation}/maxContains`,
            error: `Array may contain at most ${$maxContains} items matching schema. ${contained} items were found.`
          });
        }
      }
    }
    if (!stop && $unevaluatedItems !== void 0) {
      const keywordLocation = `${schemaLocation}/unevaluatedItems`;
      for (i; i < length; i++) {
        if (evaluated[i]) {
          continue;
        }
        const result = validate(instance[i], $unevaluatedItems, draft, lookup, shortCircuit, recursiveAnchor, `${instanceLocation}/${i}`, keywordLocation);
        evaluated[i] = true;
        if (!result.valid) {
          errors.push({
            instanceLocation,
            keyword: "unevaluatedItems",
            keywordLocation,
            error: `Items did not match unevaluated items schema.`
          }, ...result.errors);
        }
      }
    }
    if ($uniqueItems) {
      for (let j = 0; j < length; j++) {
        const a = instance[j];
        const ao = typeof a === "object" && a !== null;
        for (let k = 0; k < length; k++) {
          if (j === k) {
            continue;
          }
          const b = instance[k];
          const bo = typeof b === "object" && b !== null;
          if (a === b || ao && bo && deepCompareStrict(a, b)) {
            errors.push({
              instanceLocation,
              keyword: "uniqueItems",
              keywordLocation: `${schemaLocation}/uniqueItems`,
              error: `Duplicate items at indexes ${j} and ${k}.`
            });
            j = Number.MAX_SAFE_INTEGER;
            k = Number.MAX_SAFE_INTEGER;
          }
        }
      }
    }
  } else if (instanceType === "number") {
    if (draft === "4") {
      if ($minimum !== void 0 && ($exclusiveMinimum === true && instance <= $minimum || instance < $minimum)) {
        errors.push({
          instanceLocation,
          keyword: "minimum",
          keywordLocation: `${schemaLocation}/minimum`,
          error: `${instance} is less than ${$exclusiveMinimum ? "or equal to " : ""} ${$minimum}.`
        });
      }
      if ($maximum !== void 0 && ($exclusiveMaximum === true && instance >= $maximum || instance > $maximum)) {
        errors.push({
          instanceLocation,
          keyword: "maximum",
          keywordLocation: `${schemaLocation}/maximum`,
          error: `${instance} is greater than ${$exclusiveMaximum ? "or equal to " : ""} ${$maximum}.`
        });
      }
    } else {
      if ($minimum !== void 0 && instance < $minimum) {
        errors.push({
          instanceLocation,
          keyword: "minimum",
          keywordLocation: `${schemaLocation}/minimum`,
          error: `${instance} is less than ${$minimum}.`
        });
      }
      if ($maximum !== void 0 && instance > $maximum) {
        errors.push({
          instanceLocation,
          keyword: "maximum",
          keywordLocation: `${schemaLocation}/maximum`,
          error: `${instance} is greater than ${$maximum}.`
        });
      }
      if ($exclusiveMinimum !== void 0 && instance <= $exclusiveMinimum) {
        errors.push({
          instanceLocation,
          keyword: "exclusiveMinimum",
          keywordLocation: `${schemaLocation}/exclusiveMinimum`,
          error: `${instance} is less than ${$exclusiveMinimum}.`
        });
      }
      if ($exclusiveMaximum !== void 0 && instance >= $exclusiveMaximum) {
        errors.push({
          instanceLocation,
          keyword: "exclusiveMaximum",
          keywordLocation: `${schemaLocation}/exclusiveMaximum`,
          error: `${instance} is greater than or equal to ${$exclusiveMaximum}.`
        });
      }
    }
    if ($multipleOf !== void 0) {
      if (!isMultipleOf(instance, $multipleOf)) {
        errors.push({
          instanceLocation,
          keyword: "multipleOf",
          keywordLocation: `${schemaLocation}/multipleOf`,
          error: `${instance} is not a multiple of ${$multipleOf}.`
        });
      }
    }
  } else if (instanceType === "string") {
    const length = $minLength === void 0 && $maxLength === void 0 ? 0 : ucs2length(instance);
    if ($minLength !== void 0 && length < $minLength) {
      errors.push({
        instanceLocation,
        keyword: "minLength",
        keywordLocation: `${schemaLocation}/minLength`,
        error: `String is too short (${length} < ${$minLength}).`
      });
    }
    if ($maxLength !== void 0 && length > $maxLength) {
      errors.push({
        instanceLocation,
        keyword: "maxLength",
        keywordLocation: `${schemaLocation}/maxLength`,
        error: `String is too long (${length} > ${$maxLength}).`
      });
    }
    if ($pattern !== void 0 && !new RegExp($pattern, "u").test(instance)) {
      errors.push({
        instanceLocation,
        keyword: "pattern",
        keywordLocation: `${schemaLocation}/pattern`,
        error: `String does not match pattern.`
      });
    }
    if ($format !== void 0 && format[$format] && !format[$format](instance)) {
      errors.push({
        instanceLocation,
        keyword: "format",
        keywordLocation: `${schemaLocation}/format`,
        error: `String does not match format "${$format}".`
      });
    }
  }
  return { valid: errors.length === 0, errors };
}

// node_modules/@cfworker/json-schema/dist/esm/validator.js
var Validator = class {
  schema;
  draft;
  shortCircuit;
  lookup;
  constructor(schema, draft = "2019-09", shortCircuit = true) {
    this.schema = schema;
    this.draft = draft;
    this.shortCircuit = shortCircuit;
    this.lookup = dereference(schema);
  }
  validate(instance) {
    return validate(instance, this.schema, this.draft, this.lookup, this.shortCircuit);
  }
  addSchema(schema, id) {
    if (id) {
      schema = { ...schema, $id: id };
    }
    dereference(schema, this.lookup);
  }
};

// src/offer/standard-schema.ts
function isStandardSchema(given) {
  if (given === null || typeof given !== "object" && typeof given !== "function") return false;
  const standard = given["~standard"];
  return typeof standard?.validate === "function";
}

// src/offer/schema.ts
var PROBLEMS_TOLD = 8;
var PROBLEMS_LOOKED_AT = 100;
function compileSchema(given, side, what) {
  if (isStandardSchema(given)) return compileStandard(given, side, what);
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new TypeError(`${what} must be a JSON Schema or a Standard Schema (zod, valibot, arktype, …)`);
  }
  return compileJson(given, what);
}
function withJsonSchema(schema, json) {
  const { version, vendor, validate: validate2 } = schema["~standard"];
  return { "~standard": { version, vendor, validate: validate2, jsonSchema: { input: () => json, output: () => json } } };
}
function compileStandard(schema, side, what) {
  const { vendor, jsonSchema, validate: validate2 } = schema["~standard"];
  if (jsonSchema === void 0) {
    const how = vendor === "valibot" ? "toStandardJsonSchema(schema) of @valibot/to-json-schema" : "withJsonSchema(schema, itsJsonSchema)";
    throw new TypeError(`${what} is a ${vendor} schema that cannot tell its JSON Schema: pass ${how} instead`);
  }
  let json;
  try {
    json = jsonSchema[side]({ target: "draft-2020-12" });
  } catch (error) {
    throw new TypeError(`${what} cannot be written as JSON Schema: ${messageOf(error)}`, { cause: error });
  }
  return {
    json,
    async check(value) {
      const result = await validate2(value);
      if (!result.issues) return { value: result.value };
      return { problems: problemsOf(result.issues.slice(0, PROBLEMS_LOOKED_AT).map(issueText)) };
    }
  };
}
function compileJson(json, what) {
  let validator;
  return {
    json,
    check(value) {
      try {
        validator ??= new Validator(json, draftOf(json), false);
        const { valid, errors } = validator.validate(value);
        return valid ? { value } : { problems: problemsOf(causes(errors).map(unitText)) };
      } catch (error) {
        throw new TypeError(`${what} is no JSON Schema that can be used: ${messageOf(error)}`, { cause: error });
      }
    }
  };
}
function draftOf({ $schema }) {
  if (typeof $schema !== "string") return "2020-12";
  if (/draft-0?[67]\b/.test($schema)) return "7";
  if (/draft-0?4\b/.test($schema)) return "4";
  return $schema.includes("2019-09") ? "2019-09" : "2020-12";
}
function causes(errors) {
  const looked = errors.slice(0, PROBLEMS_LOOKED_AT);
  const holdsAnother = (at) => looked.some((other) => other.keywordLocation.startsWith(`${at}/`));
  return looked.filter(({ keywordLocation }) => !holdsAnother(keywordLocation));
}
function unitText({ instanceLocation, error }) {
  const path = instanceLocation.replace(/^#\/?/, "").split("/").map(unescapePointer).join(".");
  return path === "" ? error : `${path}: ${error}`;
}
function unescapePointer(part) {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}
function issueText({ message, path = [] }) {
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return keys.length === 0 ? message : `${keys.join(".")}: ${message}`;
}
function problemsOf(texts) {
  const told = texts.slice(0, PROBLEMS_TOLD);
  if (texts.length > told.length) told.push("and more");
  return told.join("\n");
}

// src/rounds/asks.ts
function elicitRequest(message, schema) {
  return elicitAsk(message, schema).request;
}
function elicitUrlRequest(message, url) {
  return elicitUrlAsk(message, url).request;
}
function sampleRequest(params) {
  return sampleAsk(params).request;
}
function listRootsRequest() {
  return rootsAsk().request;
}
function elicitAsk(message, schema) {
  const { json, check } = compileSchema(schema, "input", "the schema of a question");
  const { $schema: _, additionalProperties: __, ...requestedSchema } = json;
  return {
    request: { method: "elicitation/create", params: { mode: "form", message, requestedSchema } },
    async read(response) {
      const action = actionOf(response);
      if (action !== "accept") return { action };
      const checked2 = await check(memberOf(response, "content"));
      if (checked2.problems !== void 0) throw new TypeError(checked2.problems);
      return { action, content: checked2.value };
    }
  };
}
function elicitUrlAsk(message, url, elicitationId) {
  const params = { mode: "url", message, url, ...elicitationId !== void 0 && { elicitationId } };
  return {
    request: { method: "elicitation/create", params },
    read: (response) => ({ action: actionOf(response) })
  };
}
function sampleAsk(params) {
  return {
    request: { method: "sampling/createMessage", params: { ...params } },
    read(response) {
      if (typeof memberOf(response, "content") !== "object") throw new TypeError("no content");
      return response;
    }
  };
}
function rootsAsk() {
  return {
    request: { method: "roots/list" },
    read(response) {
      const roots = memberOf(response, "roots");
      if (!Array.isArray(roots)) throw new TypeError("no roots");
      return roots;
    }
  };
}
function lacking({ method, params = {} }, capabilities) {
  if (method === "roots/list") return capabilities["roots"] ? void 0 : { roots: {} };
  if (method === "sampling/createMessage") {
    const { sampling } = capabilities;
    const withTools = params["tools"] !== void 0 || params["toolChoice"] !== void 0;
    if (!withTools) return sampling ? void 0 : { sampling: {} };
    return memberOf(sampling, "tools") ? void 0 : { sampling: { tools: {} } };
  }
  const { elicitation } = capabilities;
  const mode = params["mode"] === "url" ? "url" : "form";
  const plain = mode === "form" && typeof elicitation === "object" && elicitation !== null && !("url" in elicitation);
  return plain || memberOf(elicitation, mode) ? void 0 : { elicitation: { [mode]: {} } };
}
function actionOf(response) {
  const action = memberOf(response, "action");
  if (action === "accept" || action === "decline" || action === "cancel") return action;
  throw new TypeError("no action");
}
function memberOf(value, name) {
  return typeof value === "object" && value !== null ? value[name] : void 0;
}

// src/context.ts
var MAY_ASK = /* @__PURE__ */ new Set(["tools/call", "prompts/get", "resources/read"]);
function contextOf(run, resumed) {
  const message = () => run.call.message;
  const wire = () => message().context ?? {};
  const params = () => message().params ?? {};
  const capabilities = () => wire().clientCapabilities ?? {};
  async function ask(question, { key } = {}) {
    const { method } = message();
    if (!MAY_ASK.has(method)) throw new ToolError(`${method} cannot ask the agent anything`);
    const required = lacking(question.request, capabilities());
    if (required) throw new MissingCapability(required);
    return run.ask(question, key);
  }
  return {
    get signal() {
      return run.signal;
    },
    get callId() {
      return message().id;
    },
    get rootId() {
      return message().rootId ?? message().id;
    },
    get protocolVersion() {
      return wire().protocolVersion;
    },
    get clientInfo() {
      return wire().clientInfo;
    },
    get clientCapabilities() {
      return capabilities();
    },
    get subject() {
      return wire().subject;
    },
    get logLevel() {
      return wire().logLevel;
    },
    get tasks() {
      return wire().tasks === true;
    },
    get params() {
      return params();
    },
    get inputResponses() {
      return recordOrNothing(params()["inputResponses"]);
    },
    get state() {
      return resumed.state;
    },
    progress(progress, total, text) {
      if (wire().progress !== true || !Number.isFinite(progress)) return;
      if (!Number.isFinite(total)) total = void 0;
      run.call.note({ type: "progress", id: message().id, progress, total, message: textOrNothing(text) });
    },
    log(level, data, logger) {
      if (!isLogged(level, wire().logLevel)) return;
      run.call.note({ type: "log", id: message().id, level, logger: textOrNothing(logger), data: data ?? null });
    },
    elicit: (text, schema, options) => ask(elicitAsk(text, schema), options),
    elicitUrl: (text, url, options) => {
      const id = legacyElicitationId(wire().protocolVersion);
      return ask(elicitUrlAsk(text, url, id), options);
    },
    sample: (given, options) => ask(sampleAsk(given), options),
    listRoots: (options) => ask(rootsAsk(), options),
    becomeTask({ ttlMs, pollIntervalMs, statusMessage } = {}) {
      if (wire().tasks !== true || run.signal.aborted) return false;
      run.call.note({ type: "task", id: message().id, ttlMs, pollIntervalMs, statusMessage });
      return true;
    }
  };
}
function isLogged(level, least) {
  if (least === void 0) return false;
  const rank = LOG_LEVELS.indexOf(level);
  return rank >= 0 && rank >= LOG_LEVELS.indexOf(least);
}
function legacyElicitationId(protocolVersion) {
  return isModern(protocolVersion) ? void 0 : randomId();
}
function textOrNothing(given) {
  return given === void 0 || given === null ? void 0 : String(given);
}
function recordOrNothing(given) {
  return typeof given === "object" && given !== null ? given : void 0;
}

// src/rounds/binding.ts
function bindingOf({ method, params = {}, context = {} }) {
  const target = params["name"] ?? params["uri"];
  return JSON.stringify([method, target, context.subject ?? null, sorted(params["arguments"] ?? {})]);
}
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1);
  return { members: members.map(([name, member]) => [name, sorted(member)]) };
}

// src/rounds/input-required.ts
var InputRequired = class {
  requests;
  state;
  /** @internal */
  constructor({ requests, state }) {
    this.requests = requests;
    this.state = state;
  }
};
function inputRequired(options) {
  if (options.state === void 0 && Object.keys(options.requests ?? {}).length === 0) {
    throw new TypeError("inputRequired needs a request or a state");
  }
  return new InputRequired(options);
}

// src/rounds/run.ts
var BREATH_TURNS = 10;
var Run = class {
  #abort = new AbortController();
  /** The call that is served, or was the last. */
  #call;
  /** What the agent brought with the call that is served, and nobody has asked for. */
  #given = /* @__PURE__ */ new Map();
  /** Questions without an answer, by their keys. */
  #open = /* @__PURE__ */ new Map();
  #asked = 0;
  #end;
  /** Set while a call is served. */
  #pause;
  /** @param work what runs, from the first {@link Run.serve} on */
  constructor(call, work) {
    this.#call = call;
    queueMicrotask(() => {
      Promise.resolve().then(work).then(
        (value) => this.#handleEnd({ kind: "ended", value }),
        (thrown) => this.#handleEnd({ kind: "failed", thrown })
      );
    });
  }
  get call() {
    return this.#call;
  }
  get signal() {
    return this.#abort.signal;
  }
  /**
   * Serves a call until the run pauses.
   * @param responses the agent's answers by the keys of the questions, also of those that are only
   * put from now on; what is missing, or does not fit its question, is asked for again
   */
  async serve(call, responses) {
    this.#call = call;
    this.#given = new Map(Object.entries(responses ?? {}));
    await Promise.all([...this.#open].map(([key, open]) => this.#answer(key, open)));
    if (this.#end) return this.#end;
    void this.#scheduleAsks();
    return new Promise((resolve) => this.#pause = resolve);
  }
  /** @param key names the question to the agent; the same handler asks under another each time */
  ask(ask, key) {
    const { signal } = this.#abort;
    if (signal.aborted) return Promise.reject(signal.reason);
    const name = key ?? `question-${++this.#asked}`;
    if (this.#open.has(name)) return Promise.reject(new TypeError(`two questions have the key ${name}`));
    return new Promise((resolve, reject) => {
      const open = { ask, resolve, reject };
      this.#open.set(name, open);
      void this.#answer(name, open).then(() => this.#scheduleAsks());
    });
  }
  /** The questions cannot be put. */
  refuse(reason) {
    this.#rejectAll(reason);
  }
  /** Nobody waits for the end any more. */
  abort(reason) {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort(reason);
    this.#rejectAll(reason);
  }
  /** Answers a question with what the agent brought, if it did. */
  async #answer(key, open) {
    if (!this.#given.has(key)) return;
    const response = this.#given.get(key);
    this.#given.delete(key);
    try {
      const answer = await open.ask.read(response);
      this.#open.delete(key);
      open.resolve(answer);
    } catch {
    }
  }
  /** Once those who ask in the same breath have asked. */
  async #scheduleAsks() {
    for (let turn = 0; turn < BREATH_TURNS; turn++) await void 0;
    if (!this.#pause || this.#open.size === 0) return;
    const requests = {};
    for (const [key, { ask }] of this.#open) requests[key] = ask.request;
    this.#handlePause({ kind: "asks", requests });
  }
  #handleEnd(end) {
    this.#end = end;
    this.#handlePause(end);
  }
  #handlePause(pause) {
    const resolve = this.#pause;
    this.#pause = void 0;
    resolve?.(pause);
  }
  #rejectAll(reason) {
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { reject } of open) reject(reason);
  }
};

// src/base64.ts
var SLICE = 32768;
function toBase64(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += SLICE) {
    binary += String.fromCharCode(...bytes.subarray(at, at + SLICE));
  }
  return btoa(binary);
}

// src/rounds/seal.ts
var SEALED_FOR_MS = 6e5;
var PREFIX = "sealed.";
var NONCE_BYTES = 12;
var Seal = class {
  #timers;
  #key;
  constructor(timers) {
    this.#timers = timers;
  }
  /**
   * @param binding the request for which it opens
   * @throws Error on pages without TLS, which have no cryptography
   */
  async close(state, binding) {
    const text = JSON.stringify({ state, endsAt: this.#timers.now() + SEALED_FOR_MS });
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const sealed = await subtle().encrypt(parameters(nonce, binding), await this.#ownKey(), encoder2.encode(text));
    return PREFIX + toBase64Url(nonce) + toBase64Url(new Uint8Array(sealed));
  }
  /** @throws RpcError for what was altered, sealed for another request or elsewhere, or is too old */
  async open(sealed, binding) {
    try {
      const nonceLength = toBase64Url(new Uint8Array(NONCE_BYTES)).length;
      if (!sealed.startsWith(PREFIX)) throw refusedState();
      const nonce = fromBase64Url(sealed.slice(PREFIX.length, PREFIX.length + nonceLength));
      const rest = fromBase64Url(sealed.slice(PREFIX.length + nonceLength));
      const text = await subtle().decrypt(parameters(nonce, binding), await this.#ownKey(), rest);
      const { state, endsAt } = JSON.parse(new TextDecoder().decode(text));
      if (this.#timers.now() < endsAt) return state;
    } catch {
    }
    throw refusedState();
  }
  #ownKey() {
    this.#key ??= subtle().generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
    return this.#key;
  }
};
var encoder2 = new TextEncoder();
function parameters(nonce, binding) {
  return { name: "AES-GCM", iv: nonce, additionalData: encoder2.encode(binding) };
}
function subtle() {
  const { subtle: subtle2 } = crypto;
  if (subtle2) return subtle2;
  throw new Error(
    "inputRequired with a state needs a secure context (https, or localhost), for browsers have no cryptography elsewhere; ctx.elicit, ctx.sample and ctx.listRoots work everywhere"
  );
}
function toBase64Url(bytes) {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
function fromBase64Url(text) {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  if (toBase64Url(bytes) !== text) throw new TypeError("not in its one form");
  return bytes;
}

// src/rounds/suspended.ts
var SUSPENDED_BOUNDS = { runs: 64, ageMs: 6e5 };
var PREFIX2 = "run.";
var SuspendedRuns = class {
  #timers;
  #waiting = /* @__PURE__ */ new Map();
  constructor(timers) {
    this.#timers = timers;
  }
  /**
   * Keeps a run, and gives the state under which it is found.
   * @throws ToolError if too many wait
   */
  hold(run, binding) {
    const { runs, ageMs } = SUSPENDED_BOUNDS;
    if (this.#waiting.size >= runs) {
      throw new ToolError(
        `${runs} calls of this application wait for answers, which is as many as may: try again later`
      );
    }
    const state = PREFIX2 + randomId();
    const cancelExpiry = this.#timers.after(ageMs, () => {
      this.#waiting.delete(state);
      run.abort(new CallCancelled("timeout"));
    });
    this.#waiting.set(state, { run, binding, cancelExpiry });
    return state;
  }
  /** Whether a state is of the kind that {@link SuspendedRuns.hold} gives. */
  names(state) {
    return state.startsWith(PREFIX2);
  }
  /**
   * The run that waits under a state, for the same request of the same subject.
   * @throws RpcError for any other
   */
  take(state, binding) {
    const waiting = this.#waiting.get(state);
    if (waiting?.binding !== binding) throw refusedState();
    this.#waiting.delete(state);
    waiting.cancelExpiry();
    return waiting.run;
  }
  /** The application leaves. */
  abortAll() {
    for (const { run, cancelExpiry } of this.#waiting.values()) {
      cancelExpiry();
      run.abort(new CallCancelled("closed"));
    }
    this.#waiting.clear();
  }
};

// src/rounds/rounds.ts
var Rounds = class {
  #answerer;
  #seal;
  #suspended;
  constructor(timers, answerer) {
    this.#answerer = answerer;
    this.#seal = new Seal(timers);
    this.#suspended = new SuspendedRuns(timers);
  }
  /**
   * The run that serves a call.
   * @throws RpcError for a `requestState` that is not good
   */
  runFor(call) {
    const state = call.message.params?.["requestState"];
    if (typeof state === "string" && this.#suspended.names(state)) {
      return this.#suspended.take(state, bindingOf(call.message));
    }
    const run = new Run(call, () => this.#work(run, state));
    return run;
  }
  /** Serves a call with its run until there is a result for it. */
  async result(run, call) {
    let responses = call.message.params?.["inputResponses"];
    for (; ; ) {
      const pause = await run.serve(call, responses);
      if (pause.kind === "failed") throw pause.thrown;
      if (pause.kind === "ended") return pause.value;
      try {
        const requestState = this.#suspended.hold(run, bindingOf(call.message));
        return inputRequiredResult(pause.requests, requestState);
      } catch (full) {
        run.refuse(full);
        responses = void 0;
      }
    }
  }
  /** The application leaves. */
  abortAll() {
    this.#suspended.abortAll();
  }
  async #work(run, state) {
    const { message } = run.call;
    const resumed = {};
    if (state !== void 0) resumed.state = await this.#seal.open(String(state), bindingOf(message));
    if (run.signal.aborted) throw run.signal.reason;
    const value = await this.#answerer(message.method, message.params ?? {}, contextOf(run, resumed));
    return value instanceof InputRequired ? this.#ask(value, run.call.message) : value;
  }
  async #ask({ requests, state }, message) {
    const capabilities = message.context?.clientCapabilities ?? {};
    for (const request of Object.values(requests ?? {})) {
      const required = lacking(request, capabilities);
      if (required) throw new MissingCapability(required);
    }
    const sealed = state === void 0 ? void 0 : await this.#seal.close(state, bindingOf(message));
    return inputRequiredResult(requests, sealed);
  }
};
function inputRequiredResult(inputRequests, requestState) {
  return {
    resultType: "input_required",
    ...inputRequests && { inputRequests },
    ...requestState !== void 0 && { requestState }
  };
}

// src/dispatch.ts
var LOST_CANCEL_MS = 5e3;
var Dispatcher = class {
  #parts;
  #memory = new CallMemory();
  #rounds;
  #running = /* @__PURE__ */ new Map();
  constructor(parts) {
    this.#parts = parts;
    this.#rounds = new Rounds(parts.timers, (method, params, context) => parts.offer().answer(method, params, context));
  }
  /** A call was delivered, for the first time or again. */
  handleCall(message, carrier) {
    const { id, attempt = 0, deadlineMs = 0 } = message;
    const delivery = this.#memory.handleDelivery(id, attempt, deadlineMs, this.#parts.timers.now());
    switch (delivery.kind) {
      case "run":
        return void this.#run(message, carrier);
      case "running":
        return this.#attach(message, carrier);
      case "finished":
        return void carrier.send(delivery.answer);
      case "unknown":
        return void carrier.send(unknownOutcome(id));
    }
  }
  /** The bridge gave a call up; a socket from which the call went on has nothing to say about it. */
  handleCancel(id, reason, carrier) {
    const call = this.#running.get(id);
    if (call && carrier.connection >= call.carrier.connection) this.#cancel(call, reason);
  }
  handleSettled(ids) {
    this.#memory.handleSettled(ids);
  }
  /** The application is leaving: nobody waits for any call. */
  cancelAll() {
    for (const call of this.#running.values()) this.#cancel(call, "closed");
    this.#rounds.abortAll();
  }
  async #run(message, carrier) {
    const { id, method, attempt = 0 } = message;
    const call = {
      message,
      run: void 0,
      carrier,
      attempt,
      cancelled: false,
      cancelDeadline: () => {
      },
      task: void 0,
      note: (note) => this.#note(call, note)
    };
    this.#running.set(id, call);
    this.#awaitCancel(call, message.deadlineMs ?? 0);
    const answer = await this.#answer(call);
    call.cancelDeadline();
    this.#running.delete(id);
    const text = encodeAnswer(answer, method, call.carrier.limits.maxMessageBytes);
    this.#memory.handleFinished(id, text, this.#parts.timers.now());
    if (!call.cancelled) call.carrier.send(text);
  }
  async #answer(call) {
    const { id, method, params } = call.message;
    try {
      call.run = this.#rounds.runFor(call);
      const result = await this.#rounds.result(call.run, call);
      if (typeof result !== "object" || result === null) {
        throw new TypeError(`a handler of ${method} returned ${String(result)}`);
      }
      return { type: "result", id, result };
    } catch (thrown) {
      if (!isExpected(thrown) && !call.cancelled) {
        const target = String(params?.["name"] ?? params?.["uri"] ?? method);
        this.#parts.logger.warn(`clientmcp: a call of ${target} failed`, thrown);
      }
      return answerOfThrown(call.message, thrown);
    }
  }
  #attach({ id, attempt = 0, deadlineMs = 0 }, carrier) {
    const call = this.#running.get(id);
    if (!call || attempt < call.attempt) return;
    call.carrier = carrier;
    call.attempt = attempt;
    call.cancelled = false;
    this.#awaitCancel(call, deadlineMs);
    if (call.task !== void 0) carrier.send(call.task);
  }
  #cancel(call, reason) {
    if (call.cancelled) return;
    call.cancelled = true;
    call.cancelDeadline();
    call.run?.abort(new CallCancelled(reason));
  }
  /** The bridge cancels a call at its deadline, but not if the socket is gone by then. */
  #awaitCancel(call, deadlineMs) {
    call.cancelDeadline();
    if (!(deadlineMs > 0)) return;
    call.cancelDeadline = this.#parts.timers.after(deadlineMs + LOST_CANCEL_MS, () => this.#cancel(call, "timeout"));
  }
  /** Sends what a running call has to say, if it can be said. */
  #note(call, note) {
    const { carrier } = call;
    if (call.cancelled || this.#running.get(call.message.id) !== call) return;
    try {
      const text = encodeMessage(note);
      if (!fits(text, carrier.limits.maxMessageBytes)) throw new RangeError("it is too large");
      if (!isShallow(text)) throw new RangeError("it is nested too deep");
      if (note.type === "task") call.task = text;
      carrier.send(text);
    } catch (error) {
      this.#parts.logger.warn(`clientmcp: a ${note.type} message could not be sent`, error);
    }
  }
};
function isExpected(thrown) {
  return [ToolError, RpcError, ResourceNotFound].some((kind) => thrown instanceof kind);
}
function unknownOutcome(id) {
  return encodeMessage({
    type: "error",
    id,
    error: {
      code: OUTCOME_UNKNOWN,
      message: "the application no longer knows how this call ended",
      data: { outcome: "unknown" }
    }
  });
}

// src/emitter.ts
var Emitter = class {
  #listeners = /* @__PURE__ */ new Map();
  /** Calls `listener` on each event; the returned function takes it off again. */
  on(name, listener) {
    const listeners = this.#listeners.get(name) ?? /* @__PURE__ */ new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }
  /** A listener that throws harms neither the others nor the connection. */
  emit(name, value) {
    for (const listener of [...this.#listeners.get(name) ?? []]) {
      try {
        listener(value);
      } catch (error) {
        this.handleListenerError(error);
      }
    }
  }
  handleListenerError(error) {
    console.error(error);
  }
};

// src/page.ts
function watchPage(handlers) {
  if (typeof globalThis.addEventListener !== "function") return () => {
  };
  const handleOnline = () => handlers.handleOnline();
  const handleVisibility = () => {
    if (document.visibilityState === "visible") handlers.handleVisible();
  };
  globalThis.addEventListener("online", handleOnline);
  if (typeof document !== "undefined") {
    document.addEventListener("visibilitychange", handleVisibility);
  }
  return () => {
    globalThis.removeEventListener("online", handleOnline);
    if (typeof document !== "undefined") {
      document.removeEventListener("visibilitychange", handleVisibility);
    }
  };
}

// src/timers.ts
var LONGEST_MS = 2 ** 31 - 1;
var armTimeout = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};
function timersFrom(arm, now = () => performance.now()) {
  return {
    now,
    after(ms, run) {
      const due = now() + ms;
      let cancel;
      const step = () => {
        const left = due - now();
        if (left > 0) cancel = arm(Math.min(Math.ceil(left), LONGEST_MS), step);
        else run();
      };
      cancel = arm(Math.min(Math.max(ms, 0), LONGEST_MS), step);
      return () => cancel();
    }
  };
}

// src/worker-timers.ts
var WORKER_SOURCE = `
const timers = new Map();
onmessage = ({ data: { id, ms } }) => {
  if (ms === undefined) {
    clearTimeout(timers.get(id));
    timers.delete(id);
    return;
  }
  timers.set(id, setTimeout(() => { timers.delete(id); postMessage(id); }, ms));
};
postMessage("ready");
`;
var shared;
function bestArm() {
  const inPage = typeof document !== "undefined" && typeof Worker === "function";
  shared ??= inPage ? armInWorker() : armTimeout;
  return shared;
}
function armInWorker() {
  const pending = /* @__PURE__ */ new Map();
  let ready;
  let lastId = 0;
  startWorker((worker) => ready = worker, (id) => {
    const run = pending.get(id);
    pending.delete(id);
    run?.();
  });
  return (ms, run) => {
    if (!ready) return armTimeout(ms, run);
    const worker = ready;
    const id = ++lastId;
    pending.set(id, run);
    worker.postMessage({ id, ms });
    return () => {
      if (pending.delete(id)) worker.postMessage({ id });
    };
  };
}
function startWorker(onReady, onFired) {
  try {
    const url = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }) => {
      if (data !== "ready") return onFired(data);
      URL.revokeObjectURL(url);
      onReady(worker);
    };
    worker.onerror = (event) => event.preventDefault();
  } catch {
  }
}

// src/environment.ts
function environmentFor(given, logger) {
  const constructor = given ?? globalThis.WebSocket;
  if (typeof constructor !== "function") {
    throw new TypeError(
      'there is no WebSocket here: use Node.js 22 or newer, or pass one, as in import { WebSocket } from "ws"; connect({ WebSocket, … })'
    );
  }
  return {
    WebSocket: constructor,
    timers: timersFrom(bestArm()),
    random: Math.random,
    watchPage,
    logger: logger === null ? { warn: () => {
    } } : logger ?? console
  };
}

// src/offer/prompts.ts
function prompt(given) {
  return given;
}
var PromptSet = class {
  /** MCP's definitions, in the order in which the prompts were given */
  definitions;
  #prompts;
  /** @throws TypeError for a prompt without a handler */
  constructor(prompts) {
    this.#prompts = new Map(Object.entries(prompts));
    this.definitions = [...this.#prompts].map(([name, prompt2]) => definitionOf(name, prompt2));
  }
  /** @returns the result, or an {@link InputRequired} */
  async get(params, context) {
    const name = String(params["name"]);
    const prompt2 = this.find(name);
    const value = await prompt2.handler(checkedValues(name, prompt2, params["arguments"] ?? {}), context);
    if (typeof value === "string") {
      return { messages: [{ role: "user", content: { type: "text", text: value } }] };
    }
    return Array.isArray(value) ? { messages: value } : value;
  }
  /** @throws RpcError if there is none of this name */
  find(name) {
    const prompt2 = this.#prompts.get(name);
    if (!prompt2) throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${name}`);
    return prompt2;
  }
  get complete() {
    const all = [...this.#prompts.values()].flatMap(argumentsOf);
    return all.some(([, { complete: complete2 }]) => complete2 !== void 0);
  }
};
function definitionOf(name, prompt2) {
  const { handler, arguments: given, ...definition } = prompt2;
  if (typeof handler !== "function") throw new TypeError(`the prompt ${name} has no handler`);
  if (given === void 0) return { name, ...definition };
  const list = argumentsOf(prompt2).map(([argument, { complete: _, ...members }]) => ({ name: argument, ...members }));
  return { name, ...definition, arguments: list };
}
function argumentsOf({ arguments: given = {} }) {
  return Object.entries(given);
}
function checkedValues(name, prompt2, given) {
  const problem = (text) => new RpcError(INVALID_PARAMS, `the prompt ${name}: ${text}`);
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw problem("arguments must be an object");
  for (const [argument, value] of Object.entries(given)) {
    if (typeof value !== "string") throw problem(`the argument ${argument} must be a text`);
  }
  for (const [argument, { required }] of argumentsOf(prompt2)) {
    if (required && !Object.hasOwn(given, argument)) throw problem(`the argument ${argument} is missing`);
  }
  return given;
}

// src/offer/completion.ts
var MAX_VALUES = 100;
async function complete(given, { prompts, resources }, context) {
  const { ref = {}, argument = {}, context: { arguments: others = {} } = {} } = given;
  const { name, value } = argument;
  if (typeof name !== "string" || typeof value !== "string") {
    throw new RpcError(INVALID_PARAMS, "argument must have a name and a value, both texts");
  }
  let completer;
  if (ref.type === "ref/prompt") {
    const prompt2 = prompts.find(String(ref.name));
    completer = argumentsOf(prompt2).find(([known]) => known === name)?.[1].complete;
  } else if (ref.type === "ref/resource") {
    completer = resources.completerOf(String(ref.uri), name);
  } else {
    throw new RpcError(INVALID_PARAMS, "ref must be of the type ref/prompt or ref/resource");
  }
  return { completion: completionOf(await valuesOf(completer, value, others, context)) };
}
function valuesOf(completer, value, others, context) {
  if (typeof completer === "function") return completer(value, others, context);
  const typed = value.toLowerCase();
  return (completer ?? []).filter((suggestion) => suggestion.toLowerCase().startsWith(typed));
}
function completionOf(given) {
  const { values, total = values.length, hasMore = total > MAX_VALUES } = isList(given) ? { values: given } : given;
  return { values: values.slice(0, MAX_VALUES), total, hasMore };
}
function isList(given) {
  return Array.isArray(given);
}

// src/offer/resource-contents.ts
async function contentsOf(value, uri2, mimeType) {
  if (value instanceof InputRequired) return value;
  if (typeof value === "object" && ("contents" in value || "resultType" in value)) return value;
  const list = Array.isArray(value) ? value : [value];
  return { contents: await Promise.all(list.map((each) => contentOf(each, uri2, mimeType))) };
}
async function contentOf(value, uri2, mimeType) {
  const about = { uri: uri2, ...mimeType !== void 0 && { mimeType } };
  if (typeof value === "string") return { ...about, text: value };
  if (value instanceof ArrayBuffer) return { ...about, blob: toBase64(new Uint8Array(value)) };
  if (ArrayBuffer.isView(value)) {
    return { ...about, blob: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  }
  if (value instanceof Blob) {
    const type = mimeType ?? value.type;
    return { uri: uri2, ...type !== "" && { mimeType: type }, blob: toBase64(new Uint8Array(await value.arrayBuffer())) };
  }
  const content = value;
  if (typeof content.text === "string" || typeof content.blob === "string") return { ...about, ...content };
  throw new TypeError(`a resource was read as a ${typeof value} that is neither a text, bytes nor a content`);
}

// src/offer/uri-template.ts
var MAX_URI_LENGTH = 8192;
var OPERATORS = {
  "": { first: "", between: ",", value: "[^/?#,]+" },
  "+": { first: "", between: ",", value: ".+" },
  "#": { first: "#", between: ",", value: ".+" },
  ".": { first: "\\.", between: "\\.", value: "[^./?#]+" },
  "/": { first: "/", between: "/", value: "[^/?#]+" }
};
var UriTemplate = class {
  /** in their order */
  variables;
  #pattern;
  /** those in the path, in the order of the pattern's groups */
  #inPath = [];
  #inQuery = [];
  /** @throws TypeError for a template that cannot be read backwards */
  constructor(template) {
    let pattern = "";
    const parts = template.split(/(\{[^{}]*\})/);
    for (const [at, part] of parts.entries()) {
      const isExpression = at % 2 === 1;
      if (!isExpression && /[{}]/.test(part)) throw new TypeError(`${template} is no URI template`);
      pattern += isExpression ? this.#expression(part, template) : literal(part);
    }
    this.#pattern = new RegExp(`^${pattern}$`, "s");
    this.variables = [...this.#inPath, ...this.#inQuery];
  }
  /** The variables with which the template yields this URI; undefined if there are none. */
  match(uri2) {
    if (uri2.length > MAX_URI_LENGTH) return void 0;
    const [path, query] = this.#inQuery.length > 0 ? cutQuery(uri2) : [uri2, ""];
    const found = this.#pattern.exec(path);
    if (!found) return void 0;
    const values = {};
    for (const [at, name] of this.#inPath.entries()) values[name] = decode(found[at + 1] ?? "");
    const given = new URLSearchParams(query);
    for (const name of this.#inQuery) {
      const value = given.get(name);
      if (value !== null) values[name] = value;
    }
    return values;
  }
  /** The pattern of `{…}`. */
  #expression(expression, template) {
    const [, operator = "", list = ""] = /^\{([+#./;?&|!@=,]?)(.*)\}$/.exec(expression) ?? [];
    const names = list.split(",");
    if (!names.every((name) => /^[\w.%]+$/.test(name))) {
      throw new TypeError(`the URI template ${template} cannot be matched: {${operator}${list}}`);
    }
    if (operator === "?") {
      this.#inQuery.push(...names);
      return "";
    }
    const rule = OPERATORS[operator];
    if (!rule) throw new TypeError(`the URI template ${template} cannot be matched: {${operator}${list}}`);
    this.#inPath.push(...names);
    const value = operator === "" && names.length === 1 ? "[^/?#]+" : rule.value;
    return rule.first + names.map(() => `(${value})`).join(rule.between);
  }
};
function literal(text) {
  return text.replace(/[.*+?^$|()[\]\\]/g, "\\$&");
}
function cutQuery(uri2) {
  const at = uri2.indexOf("?");
  return at < 0 ? [uri2, ""] : [uri2.slice(0, at), uri2.slice(at + 1).replace(/#.*$/s, "")];
}
function decode(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

// src/offer/resources.ts
var ResourceSet = class {
  /** MCP's definitions, or `dynamic` if lists are asked of the application */
  definitions;
  #fixed;
  #dynamic;
  #templates;
  /** @throws TypeError for a resource or template that cannot be read */
  constructor(resources, templates) {
    this.#dynamic = isDynamic(resources) ? resources : void 0;
    this.#fixed = new Map(isDynamic(resources) ? [] : Object.entries(resources));
    this.#templates = new Map(Object.entries(templates).map(([uri2, given]) => [uri2, templateOf(uri2, given)]));
    const listed = [...this.#fixed].map(([uri2, resource]) => definitionOf2("resource", "uri", uri2, resource));
    const asked = this.#dynamic !== void 0 || Object.values(templates).some(({ list }) => list !== void 0);
    this.definitions = asked ? "dynamic" : listed;
  }
  get templates() {
    return [...this.#templates.values()].map(({ definition }) => definition);
  }
  get complete() {
    return [...this.#templates.values()].some(({ given }) => Object.keys(given.complete ?? {}).length > 0);
  }
  /** @throws RpcError if there is no such template */
  completerOf(uriTemplate, variable) {
    const template = this.#templates.get(uriTemplate);
    if (!template) throw new RpcError(INVALID_PARAMS, `Unknown resource template: ${uriTemplate}`);
    const completers = template.given.complete ?? {};
    return Object.hasOwn(completers, variable) ? completers[variable] : void 0;
  }
  /** Answers `resources/list`: pages, if there are any, are those of the dynamic list. */
  async list(params, context) {
    const cursor = typeof params["cursor"] === "string" ? params["cursor"] : void 0;
    const page = pageOf(await this.#dynamic?.list(context, cursor) ?? []);
    if (cursor !== void 0) return page;
    const fixed = [...this.#fixed].map(([uri2, resource]) => definitionOf2("resource", "uri", uri2, resource));
    const templated = await Promise.all([...this.#templates.values()].map(({ given }) => given.list?.(context) ?? []));
    return { ...page, resources: [...fixed, ...templated.flat(), ...page.resources] };
  }
  /**
   * Answers `resources/read`.
   * @returns the result, or an `InputRequired`
   */
  async read(params, context) {
    const uri2 = String(params["uri"]);
    const { mimeType, value } = await this.#read(uri2, context);
    if (value === void 0 || value === null) throw new ResourceNotFound(uri2);
    return contentsOf(value, uri2, mimeType);
  }
  async #read(uri2, context) {
    const fixed = this.#fixed.get(uri2);
    if (fixed) return { mimeType: fixed.mimeType, value: await fixed.read(uri2, context) };
    for (const { uri: template, given } of this.#templates.values()) {
      const variables = template.match(uri2);
      if (variables) return { mimeType: given.mimeType, value: await given.read(uri2, variables, context) };
    }
    return { value: await this.#dynamic?.read(uri2, context) };
  }
};
function isDynamic(resources) {
  return typeof resources["list"] === "function";
}
function templateOf(uri2, given) {
  const { complete: _, list: __, ...definition } = given;
  return {
    definition: definitionOf2("resource template", "uriTemplate", uri2, definition),
    uri: new UriTemplate(uri2),
    given
  };
}
function definitionOf2(what, member, uri2, { read, ...definition }) {
  if (typeof read !== "function") throw new TypeError(`the ${what} ${uri2} has no read`);
  return Object.assign({ [member]: uri2, name: uri2 }, definition, { [member]: uri2 });
}
function pageOf(list) {
  return Array.isArray(list) ? { resources: list } : list;
}

// src/offer/tool-result.ts
function resultOf(value, structured) {
  if (value === void 0) return { content: [] };
  if (isResult(value)) return value;
  if (typeof value === "string" && !structured) return { content: [{ type: "text", text: value }] };
  const text = JSON.stringify(value);
  if (text === void 0) throw new TypeError(`a tool returned a ${typeof value}, which is no JSON`);
  return {
    content: [{ type: "text", text: typeof value === "string" ? value : text }],
    structuredContent: value
  };
}
function isResult(value) {
  if (typeof value !== "object" || value === null) return false;
  if (value instanceof InputRequired) return true;
  const { content, resultType } = value;
  return Array.isArray(content) || typeof resultType === "string";
}

// src/offer/tools.ts
function tool(given) {
  return given;
}
var TASK_SUPPORT = [void 0, "never", "optional", "required"];
var ToolSet = class {
  /** MCP's definitions, in the order in which the tools were given */
  definitions = [];
  /** what the bridge has to know of them, by name */
  options = {};
  #tools = /* @__PURE__ */ new Map();
  /** @throws TypeError for a tool that cannot work */
  constructor(tools) {
    for (const [name, tool2] of Object.entries(tools)) {
      const prepared = prepare(name, tool2);
      this.#tools.set(name, prepared);
      this.definitions.push(prepared.definition);
      if (Object.keys(prepared.options).length > 0) this.options[name] = prepared.options;
    }
  }
  /** @returns the result, or an {@link InputRequired} */
  async call(params, context) {
    const name = String(params["name"]);
    const tool2 = this.#tools.get(name);
    if (!tool2) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
    const value = await tool2.handler(await checkedArguments(name, tool2, params), context);
    const result = resultOf(value, tool2.output !== void 0);
    await checkOutput(tool2, result);
    return result;
  }
};
function prepare(name, tool2) {
  const { handler, requires, timeoutMs, task, inputSchema, outputSchema, ...definition } = tool2;
  if (typeof handler !== "function") throw new TypeError(`the tool ${name} has no handler`);
  if (!TASK_SUPPORT.includes(task)) {
    throw new TypeError(`the task of the tool ${name} must be never, optional or required`);
  }
  const input = inputSchema && compileSchema(inputSchema, "input", `the inputSchema of the tool ${name}`);
  const output = outputSchema && compileSchema(outputSchema, "output", `the outputSchema of the tool ${name}`);
  return {
    definition: {
      name,
      ...definition,
      inputSchema: input?.json ?? { type: "object" },
      ...output && { outputSchema: output.json }
    },
    options: {
      ...requires !== void 0 && { requires },
      ...timeoutMs !== void 0 && { timeoutMs },
      ...task !== void 0 && { task }
    },
    input,
    output,
    handler: (args, context) => tool2.handler(args, context)
  };
}
async function checkedArguments(name, { input }, params) {
  const given = params["arguments"] ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new RpcError(INVALID_PARAMS, "arguments must be an object");
  }
  if (!input) return given;
  const checked2 = await input.check(given);
  if (checked2.problems === void 0) return checked2.value;
  throw new ToolError(`the arguments do not fit the inputSchema of ${name}:
${checked2.problems}`);
}
async function checkOutput({ output }, result) {
  const { structuredContent, isError } = result;
  if (!output || isError === true || structuredContent === void 0) return;
  const checked2 = await output.check(structuredContent);
  if (checked2.problems === void 0) return;
  throw new TypeError(`the tool's result does not fit its outputSchema:
${checked2.problems}`);
}

// src/offer/offer.ts
var Offer = class {
  given;
  #tools;
  #prompts;
  #resources;
  /** @throws TypeError for a part that cannot work */
  constructor(given) {
    const { tools, prompts, resources, resourceTemplates } = given;
    this.given = {
      tools: { ...tools },
      prompts: { ...prompts },
      resources,
      resourceTemplates: { ...resourceTemplates }
    };
    this.#tools = new ToolSet(tools);
    this.#prompts = new PromptSet(prompts);
    this.#resources = new ResourceSet(resources, resourceTemplates);
  }
  get content() {
    const { definitions, templates } = this.#resources;
    return {
      tools: { tools: this.#tools.definitions },
      prompts: this.#prompts.definitions.length > 0 ? { prompts: this.#prompts.definitions } : {},
      resources: {
        ...definitions.length > 0 && { resources: definitions },
        ...templates.length > 0 && { resourceTemplates: templates }
      },
      rest: {
        ...Object.keys(this.#tools.options).length > 0 && { toolOptions: this.#tools.options },
        ...(this.#prompts.complete || this.#resources.complete) && { completions: true }
      }
    };
  }
  /**
   * Runs the handler that a request is for.
   * @returns MCP's result, or an `InputRequired`
   */
  async answer(method, params, context) {
    switch (method) {
      case "tools/call":
        return this.#tools.call(params, context);
      case "prompts/get":
        return this.#prompts.get(params, context);
      case "resources/read":
        return this.#resources.read(params, context);
      case "resources/list":
        return this.#resources.list(params, context);
      case "completion/complete":
        return complete(params, { prompts: this.#prompts, resources: this.#resources }, context);
      default:
        throw new RpcError(METHOD_NOT_FOUND, `the application does not offer ${method}`);
    }
  }
};

// src/register.ts
var FEATURES = ["resume"];
var EMPTY = "{}";
var Registrar = class {
  instance = randomId();
  #options;
  #known = /* @__PURE__ */ new Map();
  #content;
  /** @throws RangeError as {@link Registrar.replace} */
  constructor(options, offer, maxMessageBytes) {
    this.#options = options;
    this.#content = this.#checked(offer, maxMessageBytes);
  }
  /**
   * Replaces what is offered; true if that changes what is registered.
   * @throws RangeError for an offer that is too large to register
   */
  replace(offer, maxMessageBytes) {
    const before = JSON.stringify(this.#content);
    this.#content = this.#checked(offer, maxMessageBytes);
    return before !== JSON.stringify(this.#content);
  }
  /**
   * The `register` for a connection.
   * @param moving whether it is to take over from one that still stands
   * @param full whether no kind is to be named by its hash
   */
  registration(connection, moving, full) {
    const members = moving ? { moving } : {};
    const contents = {};
    let named = 0;
    for (const kind of KINDS) {
      const content = contents[kind] = JSON.stringify(this.#content[kind]);
      const known = this.#known.get(kind);
      if (!full && content !== EMPTY && known?.content === content) {
        members[kind] = { hash: known.hash };
        named++;
      } else {
        Object.assign(members, this.#content[kind]);
      }
    }
    return { text: this.#encode(members, connection), full: named === 0, contents };
  }
  /** Remembers the hashes of what was registered. */
  handleRegistered(registration, message) {
    for (const kind of KINDS) {
      const hash = message.hashes?.[kind];
      if (typeof hash === "string") this.#known.set(kind, { content: registration.contents[kind], hash });
    }
  }
  #checked(offer, maxMessageBytes) {
    const { tools, prompts, resources, rest } = offer.content;
    const { serverInfo, instructions, ttlMs } = this.#options;
    const content = { tools, prompts, resources, rest: { serverInfo, instructions, ttlMs, ...rest } };
    const whole = Object.assign({}, ...KINDS.map((kind) => content[kind]));
    if (!fits(this.#encode(whole, Number.MAX_SAFE_INTEGER), maxMessageBytes)) {
      throw new RangeError(`the registration is larger than a message may be (${maxMessageBytes} bytes)`);
    }
    return content;
  }
  #encode(content, connection) {
    const { instance } = this;
    return encodeMessage({ type: "register", instance, connection, features: FEATURES, ...content });
  }
};

// src/client.ts
function connect(options) {
  checkOptions(options);
  return new App(options, environmentFor(options.WebSocket, options.logger));
}
var App = class extends Emitter {
  #environment;
  #registrar;
  #dispatcher;
  #connector;
  #offer;
  #subscriptions = [];
  #status = { state: "connecting" };
  #clientId;
  #maxMessageBytes = DEFAULT_LIMITS.maxMessageBytes;
  /** @internal */
  constructor(options, environment) {
    super();
    const { timers, logger } = environment;
    this.#environment = environment;
    const { tools = {}, prompts = {}, resources = {}, resourceTemplates = {} } = options;
    this.#offer = new Offer({ tools, prompts, resources, resourceTemplates });
    this.#registrar = new Registrar(options, this.#offer, this.#maxMessageBytes);
    this.#dispatcher = new Dispatcher({
      timers,
      logger,
      offer: () => this.#offer
    });
    this.#connector = new Connector({
      environment,
      url: options.url,
      registrar: this.#registrar,
      tokens: new TokenSource(options.token, timers),
      handlers: {
        handleStatus: (status) => this.#handleStatus(status),
        handleRegistered: (message) => this.#handleRegistered(message),
        handleMessage: (session, message) => this.#handleMessage(session, message)
      }
    });
    this.#connector.start();
  }
  /** Where the connection stands at present. */
  get status() {
    return this.#status;
  }
  /** The identity under which agents reach this application, as soon as it is known. */
  get clientId() {
    return this.#clientId;
  }
  /** Starts anew after `stopped`, be it by {@link App.close} or by the bridge. */
  connect() {
    this.#connector.start();
  }
  /** Leaves the cluster: agents are told at once that the application is offline. */
  close() {
    this.#dispatcher.cancelAll();
    this.#connector.close();
  }
  /** The URIs of the resources that somebody watches at present. */
  get subscriptions() {
    return this.#subscriptions;
  }
  /**
   * Replaces all tools, online or not.
   * @throws TypeError for a tool that cannot work, RangeError for an offer too large to register
   */
  setTools(tools) {
    this.#replace({ tools });
  }
  /** Replaces all prompts, as {@link App.setTools}. */
  setPrompts(prompts) {
    this.#replace({ prompts });
  }
  /** Replaces all resources but those of templates, as {@link App.setTools}. */
  setResources(resources) {
    this.#replace({ resources });
  }
  /** Replaces all resource templates, as {@link App.setTools}. */
  setResourceTemplates(templates) {
    this.#replace({ resourceTemplates: templates });
  }
  /**
   * Tells those who watch a resource that it has changed. While the connection is lost there is
   * nobody to tell; the cluster has watchers read again once it is back.
   */
  resourceUpdated(uri2) {
    const method = "notifications/resources/updated";
    this.#connector.current?.send(encodeMessage({ type: "notify", method, params: { uri: uri2 } }));
  }
  #replace(part) {
    const offer = new Offer({ ...this.#offer.given, ...part });
    const changed = this.#registrar.replace(offer, this.#maxMessageBytes);
    this.#offer = offer;
    if (changed) this.#connector.register();
  }
  handleListenerError(error) {
    this.#environment.logger.warn("clientmcp: a listener failed", error);
  }
  #handleStatus(status) {
    this.#status = { ...status, ...this.#clientId !== void 0 && { clientId: this.#clientId } };
    this.emit("status", this.#status);
  }
  #handleRegistered(message) {
    this.#clientId = message.clientId;
    this.#maxMessageBytes = message.limits?.maxMessageBytes ?? this.#maxMessageBytes;
    if (this.#status.state !== "online") this.#handleStatus({ state: "online" });
    const { rejected = [] } = message;
    if (rejected.length === 0) return;
    for (const { kind, name, reason } of rejected) {
      this.#environment.logger.warn(`clientmcp: ${kind}${name ? `: ${name}` : ""} was refused: ${reason}`);
    }
    this.emit("rejected", rejected);
  }
  #handleMessage(session, message) {
    switch (message.type) {
      case "call":
        if (typeof message.id === "string") this.#dispatcher.handleCall(message, session);
        return;
      case "cancel":
        return this.#dispatcher.handleCancel(message.id, message.reason ?? "agent", session);
      case "settled":
        return this.#dispatcher.handleSettled(message.ids);
      case "subscriptions":
        if (session === this.#connector.current) this.#handleSubscriptions(message.uris);
        return;
      default:
    }
  }
  #handleSubscriptions(uris) {
    if (!Array.isArray(uris)) return;
    this.#subscriptions = uris.filter((uri2) => typeof uri2 === "string");
    this.emit("subscriptions", this.#subscriptions);
  }
};
function checkOptions({ url, serverInfo }) {
  if (typeof url !== "string" || url === "") {
    throw new TypeError("clientmcp: `url` must be the address of the cluster, as wss://…/v1/connect");
  }
  if (typeof serverInfo?.name !== "string" || typeof serverInfo.version !== "string") {
    throw new TypeError("clientmcp: `serverInfo` must have a name and a version, both texts");
  }
}
export {
  App,
  CallCancelled,
  MissingCapability,
  ResourceNotFound,
  RpcError,
  ToolError,
  connect,
  elicitRequest,
  elicitUrlRequest,
  inputRequired,
  listRootsRequest,
  prompt,
  sampleRequest,
  tool,
  withJsonSchema
};
