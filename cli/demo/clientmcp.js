// @clientmcp/sdk, Apache-2.0. Generated from sdk/js by npm run build; do not edit.

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
var OUTCOME_UNKNOWN = -31002;

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
    this.#asked = this.#parts.registrar.registration(this.connection, full);
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
function errorResult(text) {
  return { content: [{ type: "text", text }], isError: true };
}
function resultOf(value, tool) {
  if (value === void 0) return { content: [] };
  if (isResult(value)) return value;
  if (typeof value === "string" && tool.outputSchema === void 0) {
    return { content: [{ type: "text", text: value }] };
  }
  const text = JSON.stringify(value);
  if (text === void 0) throw new TypeError(`a tool returned a ${typeof value}, which is no JSON`);
  return {
    content: [{ type: "text", text: typeof value === "string" ? value : text }],
    structuredContent: value
  };
}
function isResult(value) {
  if (typeof value !== "object" || value === null) return false;
  const { content, resultType } = value;
  return Array.isArray(content) || typeof resultType === "string";
}
function answerOfThrown(id, thrown) {
  if (!(thrown instanceof RpcError)) {
    return { type: "result", id, result: errorResult(messageOf(thrown) || "the tool failed") };
  }
  const { code, message, data } = thrown;
  return { type: "error", id, error: { code, message, ...data !== void 0 && { data } } };
}
function encodeAnswer(answer, maxMessageBytes) {
  const { id } = answer;
  const encoded = tryEncode(answer, maxMessageBytes);
  if ("text" in encoded) return encoded.text;
  const { problem } = encoded;
  if (answer.type === "result") {
    return encodeMessage({ type: "result", id, result: errorResult(problem) });
  }
  return encodeMessage({ type: "error", id, error: { code: answer.error.code, message: problem } });
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

// src/dispatch.ts
var LOST_CANCEL_MS = 5e3;
var Dispatcher = class {
  #parts;
  #memory = new CallMemory();
  #running = /* @__PURE__ */ new Map();
  constructor(parts) {
    this.#parts = parts;
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
  }
  async #run(message, carrier) {
    const { id, attempt = 0 } = message;
    const abort = new AbortController();
    const call = { message, abort, carrier, attempt, cancelled: false, cancelDeadline: () => {
    } };
    this.#running.set(id, call);
    this.#awaitCancel(call, message.deadlineMs ?? 0);
    const answer = await this.#answer(call);
    call.cancelDeadline();
    this.#running.delete(id);
    const text = encodeAnswer(answer, call.carrier.limits.maxMessageBytes);
    this.#memory.handleFinished(id, text, this.#parts.timers.now());
    if (!call.cancelled) call.carrier.send(text);
  }
  async #answer(call) {
    const { id, method, params = {} } = call.message;
    try {
      if (method !== "tools/call") {
        throw new RpcError(METHOD_NOT_FOUND, `the application does not offer ${method}`);
      }
      const name = String(params["name"]);
      const tools = this.#parts.tools();
      const tool = Object.hasOwn(tools, name) ? tools[name] : void 0;
      if (!tool) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
      const value = await tool.handler(readArguments(params), this.#contextOf(call));
      return { type: "result", id, result: resultOf(value, tool) };
    } catch (thrown) {
      const expected = thrown instanceof ToolError || thrown instanceof RpcError;
      if (!expected && !call.cancelled) {
        this.#parts.logger.warn(`clientmcp: a call of ${String(params["name"])} failed`, thrown);
      }
      return answerOfThrown(id, thrown);
    }
  }
  #attach({ id, attempt = 0, deadlineMs = 0 }, carrier) {
    const call = this.#running.get(id);
    if (!call || attempt < call.attempt) return;
    call.carrier = carrier;
    call.attempt = attempt;
    call.cancelled = false;
    this.#awaitCancel(call, deadlineMs);
  }
  #cancel(call, reason) {
    if (call.cancelled) return;
    call.cancelled = true;
    call.cancelDeadline();
    call.abort.abort(new CallCancelled(reason));
  }
  /** The bridge cancels a call at its deadline, but not if the socket is gone by then. */
  #awaitCancel(call, deadlineMs) {
    call.cancelDeadline();
    if (!(deadlineMs > 0)) return;
    call.cancelDeadline = this.#parts.timers.after(deadlineMs + LOST_CANCEL_MS, () => this.#cancel(call, "timeout"));
  }
  /** Sends what a running call has to say, if it can be said. */
  #note(call, message) {
    const { carrier } = call;
    if (!carrier.isOpen || call.cancelled || this.#running.get(call.message.id) !== call) return;
    try {
      const text = encodeMessage(message);
      if (!fits(text, carrier.limits.maxMessageBytes)) throw new RangeError("it is too large");
      if (!isShallow(text)) throw new RangeError("it is nested too deep");
      carrier.send(text);
    } catch (error) {
      this.#parts.logger.warn(`clientmcp: a ${message.type} message could not be sent`, error);
    }
  }
  #contextOf(call) {
    const { id, rootId = id, params = {}, context = {} } = call.message;
    const { logLevel, clientCapabilities = {} } = context;
    return {
      signal: call.abort.signal,
      callId: id,
      rootId,
      protocolVersion: context.protocolVersion,
      clientInfo: context.clientInfo,
      clientCapabilities,
      subject: context.subject,
      logLevel,
      params,
      progress: (progress, total, message) => {
        if (context.progress !== true || !Number.isFinite(progress)) return;
        if (!Number.isFinite(total)) total = void 0;
        this.#note(call, { type: "progress", id, progress, total, message: textOrNothing(message) });
      },
      log: (level, data, logger) => {
        if (!isLogged(level, logLevel)) return;
        if (data === void 0) data = null;
        this.#note(call, { type: "log", id, level, logger: textOrNothing(logger), data });
      }
    };
  }
};
function readArguments(params) {
  const given = params["arguments"] ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new RpcError(INVALID_PARAMS, "arguments must be an object");
  }
  return given;
}
function isLogged(level, least) {
  if (least === void 0) return false;
  const rank = LOG_LEVELS.indexOf(level);
  return rank >= 0 && rank >= LOG_LEVELS.indexOf(least);
}
function textOrNothing(given) {
  return given === void 0 || given === null ? void 0 : String(given);
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

// src/register.ts
var FEATURES = ["resume"];
var Registrar = class {
  instance = randomId();
  #options;
  #known = /* @__PURE__ */ new Map();
  #content;
  /** @throws TypeError, RangeError as {@link Registrar.setTools} */
  constructor(options, maxMessageBytes) {
    this.#options = options;
    this.#content = contentOf(options, {});
    this.setTools(options.tools ?? {}, maxMessageBytes);
  }
  /**
   * Replaces the tools; true if that changes what is registered.
   * @throws TypeError for a tool without a handler, RangeError for tools too large to register
   */
  setTools(tools, maxMessageBytes) {
    const before = this.#content;
    const content = contentOf(this.#options, tools);
    const whole = { ...content.tools, ...content.rest };
    if (!fits(this.#encode(whole, Number.MAX_SAFE_INTEGER), maxMessageBytes)) {
      throw new RangeError(`the registration is larger than a message may be (${maxMessageBytes} bytes)`);
    }
    this.#content = content;
    return JSON.stringify(before) !== JSON.stringify(content);
  }
  /** The `register` for a connection; `full` names no kind by its hash. */
  registration(connection, full) {
    const contents = {
      tools: JSON.stringify(this.#content.tools),
      rest: JSON.stringify(this.#content.rest)
    };
    const content = {};
    let named = 0;
    for (const kind of ["tools", "rest"]) {
      const known = this.#known.get(kind);
      if (full || known?.content !== contents[kind]) {
        Object.assign(content, this.#content[kind]);
      } else {
        content[kind] = { hash: known.hash };
        named++;
      }
    }
    return { text: this.#encode(content, connection), full: named === 0, contents };
  }
  /** Remembers the hashes of what was registered. */
  handleRegistered(registration, message) {
    for (const kind of ["tools", "rest"]) {
      const hash = message.hashes?.[kind];
      if (typeof hash === "string") {
        this.#known.set(kind, { content: registration.contents[kind], hash });
      }
    }
  }
  #encode(content, connection) {
    const { instance } = this;
    return encodeMessage({ type: "register", instance, connection, features: FEATURES, ...content });
  }
};
function contentOf(options, tools) {
  const definitions = [];
  const toolOptions = {};
  for (const [name, tool] of Object.entries(tools)) {
    const { handler, requires, timeoutMs, inputSchema = { type: "object" }, ...definition } = tool;
    if (typeof handler !== "function") throw new TypeError(`the tool ${name} has no handler`);
    definitions.push(Object.assign({ name }, definition, { inputSchema, name }));
    if (requires !== void 0 || timeoutMs !== void 0) toolOptions[name] = { requires, timeoutMs };
  }
  const { serverInfo, instructions, ttlMs } = options;
  const rest = { serverInfo, instructions, ttlMs };
  if (Object.keys(toolOptions).length > 0) rest["toolOptions"] = toolOptions;
  return { tools: { tools: definitions }, rest };
}
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

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
  #tools;
  #status = { state: "connecting" };
  #clientId;
  #maxMessageBytes = DEFAULT_LIMITS.maxMessageBytes;
  /** @internal */
  constructor(options, environment) {
    super();
    const { timers, logger } = environment;
    this.#environment = environment;
    this.#tools = { ...options.tools };
    this.#registrar = new Registrar(options, this.#maxMessageBytes);
    this.#dispatcher = new Dispatcher({
      timers,
      logger,
      tools: () => this.#tools
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
  /**
   * Replaces all tools.
   * @throws TypeError for a tool without a handler, RangeError for tools too large to register
   */
  setTools(tools) {
    const changed = this.#registrar.setTools(tools, this.#maxMessageBytes);
    this.#tools = { ...tools };
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
      default:
    }
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
  RpcError,
  ToolError,
  connect
};
