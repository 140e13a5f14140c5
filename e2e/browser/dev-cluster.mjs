// A development cluster of one process: `clientmcp dev --json`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("../../target", import.meta.url));
const program = `${target}/debug/clientmcp`;

export class DevCluster {
  /** Signs the tokens of every cluster here. */
  static secret = "the secret of the browser tests: long enough";

  /** Starts one; resolves once it serves. */
  static async start({ listen = "127.0.0.1:0", args = [] } = {}) {
    const child = spawn(program, ["dev", "--json", "--listen", listen, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, CLIENTMCP_SECRET: DevCluster.secret },
    });
    const line = once(createInterface({ input: child.stdout }), "line");
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`clientmcp dev ended with ${code} before it served`);
    });
    ended.catch(() => {});
    const [text] = await Promise.race([line, ended]);
    return new DevCluster(child, JSON.parse(text));
  }

  constructor(child, session) {
    this.child = child;
    Object.assign(this, session);
    this.origin = new URL(this.agentUrl).origin;
    this.listen = new URL(this.agentUrl).host;
  }

  /** Ends it without warning. */
  async kill() {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }
}
