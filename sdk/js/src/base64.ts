/** As many bytes as a function call surely takes as arguments. */
const SLICE = 0x8000;

/** Base64 (RFC 4648 §4), as MCP wants binary contents. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += SLICE) {
    binary += String.fromCharCode(...bytes.subarray(at, at + SLICE));
  }
  return btoa(binary);
}
