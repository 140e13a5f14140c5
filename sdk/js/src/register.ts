/**
 * The registration: what the application offers, by kind, and the hash that the bridge gave each
 * content, so that a content known to the cluster is named instead of sent (SPEC.md, register).
 */
import type { ConnectOptions, Tools } from "./options.js";
import { encodeMessage, fits, type Kind, type RegisteredMessage } from "./messages.js";

/** The kinds that this SDK fills; those that it leaves out are empty. */
type FilledKind = Extract<Kind, "tools" | "rest">;

/** The content of each kind, as it stands in a `register`. */
interface Content {
  tools: { tools: Record<string, unknown>[] };
  rest: Record<string, unknown>;
}

/** A `register` to send. */
export interface Registration {
  text: string;
  /** whether no kind is named by its hash */
  full: boolean;
  /** each kind's content, to be remembered with the hash that the answer gives it */
  contents: Record<FilledKind, string>;
}

const FEATURES = ["resume"];

export class Registrar {
  readonly instance = randomId();
  readonly #options: ConnectOptions;
  readonly #known = new Map<FilledKind, { content: string; hash: string }>();
  #content: Content;

  /** @throws TypeError, RangeError as {@link Registrar.setTools} */
  constructor(options: ConnectOptions, maxMessageBytes: number) {
    this.#options = options;
    this.#content = contentOf(options, {});
    this.setTools(options.tools ?? {}, maxMessageBytes);
  }

  /**
   * Replaces the tools; true if that changes what is registered.
   * @throws TypeError for a tool without a handler, RangeError for tools too large to register
   */
  setTools(tools: Tools, maxMessageBytes: number): boolean {
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
  registration(connection: number, full: boolean): Registration {
    const contents = {
      tools: JSON.stringify(this.#content.tools),
      rest: JSON.stringify(this.#content.rest),
    };
    const content: Record<string, unknown> = {};
    let named = 0;
    for (const kind of ["tools", "rest"] as const) {
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
  handleRegistered(registration: Registration, message: RegisteredMessage): void {
    for (const kind of ["tools", "rest"] as const) {
      const hash = message.hashes?.[kind];
      if (typeof hash === "string") {
        this.#known.set(kind, { content: registration.contents[kind], hash });
      }
    }
  }

  #encode(content: Record<string, unknown>, connection: number): string {
    const { instance } = this;
    return encodeMessage({ type: "register", instance, connection, features: FEATURES, ...content });
  }
}

function contentOf(options: ConnectOptions, tools: Tools): Content {
  const definitions: Record<string, unknown>[] = [];
  const toolOptions: Record<string, Record<string, unknown>> = {};
  for (const [name, tool] of Object.entries(tools)) {
    const { handler, requires, timeoutMs, inputSchema = { type: "object" }, ...definition } = tool;
    if (typeof handler !== "function") throw new TypeError(`the tool ${name} has no handler`);
    definitions.push(Object.assign({ name }, definition, { inputSchema, name }));
    if (requires !== undefined || timeoutMs !== undefined) toolOptions[name] = { requires, timeoutMs };
  }
  const { serverInfo, instructions, ttlMs } = options;
  const rest: Record<string, unknown> = { serverInfo, instructions, ttlMs };
  if (Object.keys(toolOptions).length > 0) rest["toolOptions"] = toolOptions;
  return { tools: { tools: definitions }, rest };
}

/** 128 random bits. Unlike randomUUID, getRandomValues also exists on pages without TLS. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
