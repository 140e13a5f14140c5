/** What is generated, and what must not creep in. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const read = (path: string): string => readFileSync(path, "utf8");

test("the demo's copy of the SDK is up to date (npm run build:demo)", () => {
  const folder = mkdtempSync(join(tmpdir(), "clientmcp-"));
  try {
    const fresh = join(folder, "clientmcp.js");
    execFileSync("npm", ["run", "--silent", "bundle", "--", `--outfile=${fresh}`, "--log-level=error"]);
    assert.equal(read("../../cli/demo/clientmcp.js"), read(fresh));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the single file imports nothing", () => {
  assert.doesNotMatch(read("dist/clientmcp.js"), /^\s*import\b|\bimport\(|\brequire\(/m);
});

test("a page loads 24 KiB at most, minified and compressed", () => {
  const minified = execFileSync("npx", ["esbuild", "dist/clientmcp.js", "--minify", "--log-level=error"]);
  const { length } = gzipSync(minified);
  assert.ok(length <= 24 * 1024, `${length} bytes`);
});

test("the validator of JSON Schema is the one runtime dependency, and the lockfile names no host", () => {
  const manifest = JSON.parse(read("package.json")) as { dependencies: Record<string, string> };
  assert.deepEqual(Object.keys(manifest.dependencies), ["@cfworker/json-schema"]);
  assert.doesNotMatch(read("package-lock.json"), /"resolved"/);
});
