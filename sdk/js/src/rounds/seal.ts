/**
 * State that an application gives an agent to keep between two rounds (`inputRequired`), sealed:
 * AES-256-GCM under a key of this instance. The request and its subject are authenticated with it,
 * so that it opens for the same request alone, and so is the time at which it ends.
 */
import { refusedState } from "../errors.js";
import { toBase64 } from "../base64.js";
import type { Timers } from "../timers.js";

/** How long an agent may take. */
export const SEALED_FOR_MS = 600_000;

const PREFIX = "sealed.";
const NONCE_BYTES = 12;

export class Seal {
  readonly #timers: Timers;
  #key: Promise<CryptoKey> | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * @param binding the request for which it opens
   * @throws Error on pages without TLS, which have no cryptography
   */
  async close(state: unknown, binding: string): Promise<string> {
    const text = JSON.stringify({ state, endsAt: this.#timers.now() + SEALED_FOR_MS });
    const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
    const sealed = await subtle().encrypt(parameters(nonce, binding), await this.#ownKey(), encoder.encode(text));
    return PREFIX + toBase64Url(nonce) + toBase64Url(new Uint8Array(sealed));
  }

  /** @throws RpcError for what was altered, sealed for another request or elsewhere, or is too old */
  async open(sealed: string, binding: string): Promise<unknown> {
    try {
      const nonceLength = toBase64Url(new Uint8Array(NONCE_BYTES)).length;
      if (!sealed.startsWith(PREFIX)) throw refusedState();
      const nonce = fromBase64Url(sealed.slice(PREFIX.length, PREFIX.length + nonceLength));
      const rest = fromBase64Url(sealed.slice(PREFIX.length + nonceLength));
      const text = await subtle().decrypt(parameters(nonce, binding), await this.#ownKey(), rest);
      const { state, endsAt } = JSON.parse(new TextDecoder().decode(text)) as { state: unknown; endsAt: number };
      if (this.#timers.now() < endsAt) return state;
    } catch {
      // Whatever is wrong with it, the agent learns no more than that it is not good.
    }
    throw refusedState();
  }

  #ownKey(): Promise<CryptoKey> {
    this.#key ??= subtle().generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
    return this.#key;
  }
}

const encoder = new TextEncoder();

function parameters(nonce: Uint8Array<ArrayBuffer>, binding: string): AesGcmParams {
  return { name: "AES-GCM", iv: nonce, additionalData: encoder.encode(binding) };
}

function subtle(): SubtleCrypto {
  const { subtle } = crypto as { subtle?: SubtleCrypto };
  if (subtle) return subtle;
  throw new Error(
    "inputRequired with a state needs a secure context (https, or localhost), for browsers have no " +
      "cryptography elsewhere; ctx.elicit, ctx.sample and ctx.listRoots work everywhere",
  );
}

function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @throws for what is no base64url, or not in its one form */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  if (toBase64Url(bytes) !== text) throw new TypeError("not in its one form");
  return bytes;
}
