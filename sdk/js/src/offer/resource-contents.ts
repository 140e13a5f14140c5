/** From what a resource's reader returned to the result of `resources/read`. */
import { toBase64 } from "../base64.js";
import { InputRequired } from "../rounds/input-required.js";

/** One content in MCP's own form; the URI and the type are those of the resource by default. */
export interface ResourceContent {
  uri?: string;
  mimeType?: string;
  text?: string;
  /** base64 */
  blob?: string;
  _meta?: Record<string, unknown>;
  [member: string]: unknown;
}

/** What can be read: a text, bytes, contents, or MCP's whole result. */
export type Readable =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | ResourceContent
  | ResourceContent[]
  | { contents: ResourceContent[]; [member: string]: unknown };

/**
 * MCP's result for a reader's value; an {@link InputRequired} stays what it is.
 * @throws TypeError for what is no content
 */
export async function contentsOf(
  value: Readable | InputRequired,
  uri: string,
  mimeType: string | undefined,
): Promise<unknown> {
  if (value instanceof InputRequired) return value;
  if (typeof value === "object" && ("contents" in value || "resultType" in value)) return value;
  const list: Readable[] = Array.isArray(value) ? value : [value];
  return { contents: await Promise.all(list.map((each) => contentOf(each, uri, mimeType))) };
}

async function contentOf(value: Readable, uri: string, mimeType: string | undefined): Promise<ResourceContent> {
  const about = { uri, ...(mimeType !== undefined && { mimeType }) };
  if (typeof value === "string") return { ...about, text: value };
  if (value instanceof ArrayBuffer) return { ...about, blob: toBase64(new Uint8Array(value)) };
  if (ArrayBuffer.isView(value)) {
    return { ...about, blob: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  }
  if (value instanceof Blob) {
    const type = mimeType ?? value.type;
    return { uri, ...(type !== "" && { mimeType: type }), blob: toBase64(new Uint8Array(await value.arrayBuffer())) };
  }
  const content = value as ResourceContent;
  if (typeof content.text === "string" || typeof content.blob === "string") return { ...about, ...content };
  throw new TypeError(`a resource was read as a ${typeof value} that is neither a text, bytes nor a content`);
}
