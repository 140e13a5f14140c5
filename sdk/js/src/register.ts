/**
 * The registration: what the application offers, by kind, and the hash that the bridge gave each
 * content, so that a content known to the cluster is named instead of sent (SPEC.md, register).
 */
import type { ConnectOptions } from "./options.js";
import { encodeMessage, fits, KINDS, type Kind, type RegisteredMessage } from "./messages.js";
import type { Offer } from "./offer/offer.js";
import { randomId } from "./random.js";

/** The members that each kind adds to a `register`; none where it is empty. */
type Content = Record<Kind, Record<string, unknown>>;

/** A `register` to send. */
export interface Registration {
  text: string;
  /** whether no kind is named by its hash */
  full: boolean;
  /** each kind's content, to be remembered with the hash that the answer gives it */
  contents: Record<Kind, string>;
}

const FEATURES = ["resume"];
const EMPTY = "{}";

export class Registrar {
  readonly instance = randomId();
  readonly #options: ConnectOptions;
  readonly #known = new Map<Kind, { content: string; hash: string }>();
  #content: Content;

  /** @throws RangeError as {@link Registrar.replace} */
  constructor(options: ConnectOptions, offer: Offer, maxMessageBytes: number) {
    this.#options = options;
    this.#content = this.#checked(offer, maxMessageBytes);
  }

  /**
   * Replaces what is offered; true if that changes what is registered.
   * @throws RangeError for an offer that is too large to register
   */
  replace(offer: Offer, maxMessageBytes: number): boolean {
    const before = JSON.stringify(this.#content);
    this.#content = this.#checked(offer, maxMessageBytes);
    return before !== JSON.stringify(this.#content);
  }

  /**
   * The `register` for a connection.
   * @param moving whether it is to take over from one that still stands
   * @param full whether no kind is to be named by its hash
   */
  registration(connection: number, moving: boolean, full: boolean): Registration {
    const members: Record<string, unknown> = moving ? { moving } : {};
    const contents = {} as Record<Kind, string>;
    let named = 0;
    for (const kind of KINDS) {
      const content = (contents[kind] = JSON.stringify(this.#content[kind]));
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
  handleRegistered(registration: Registration, message: RegisteredMessage): void {
    for (const kind of KINDS) {
      const hash = message.hashes?.[kind];
      if (typeof hash === "string") this.#known.set(kind, { content: registration.contents[kind], hash });
    }
  }

  #checked(offer: Offer, maxMessageBytes: number): Content {
    const { tools, prompts, resources, rest } = offer.content;
    const { serverInfo, instructions, ttlMs } = this.#options;
    const content = { tools, prompts, resources, rest: { serverInfo, instructions, ttlMs, ...rest } };
    const whole = Object.assign({}, ...KINDS.map((kind) => content[kind])) as Record<string, unknown>;
    if (!fits(this.#encode(whole, Number.MAX_SAFE_INTEGER), maxMessageBytes)) {
      throw new RangeError(`the registration is larger than a message may be (${maxMessageBytes} bytes)`);
    }
    return content;
  }

  #encode(content: Record<string, unknown>, connection: number): string {
    const { instance } = this;
    return encodeMessage({ type: "register", instance, connection, features: FEATURES, ...content });
  }
}
