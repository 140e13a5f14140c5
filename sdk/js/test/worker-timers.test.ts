/** Timers in a page: its own are slowed down as a browser does with hidden pages, the worker's are not. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

/** A hidden page: its own timers fire when `wakeUp` is called, which no test does by accident. */
const page = {
  timers: new Map<number, () => void>(),
  last: 0,
  wakeUp: () => [...page.timers].forEach(([id, run]) => page.timers.delete(id) && run()),
};

/** The worker's own timers, with the times for which they were set. */
const inWorker = new Map<number, { ms: number; run: () => void }>();

interface World {
  onmessage?: (event: { data: unknown }) => void;
}

/** Runs the SDK's worker source as a browser does: in a world of its own, with messages in and out. */
class FakeWorker {
  static started: FakeWorker[] = [];
  static allowed = true;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onerror: ((event: { preventDefault(): void }) => void) | null = null;
  readonly #world: World;

  constructor(url: string) {
    if (!FakeWorker.allowed) throw new Error("the content security policy forbids it");
    FakeWorker.started.push(this);
    let last = 0;
    this.#world = createContext({
      setTimeout: (run: () => void, ms: number) => (inWorker.set(++last, { ms, run }), last),
      clearTimeout: (id: number) => inWorker.delete(id),
      postMessage: (data: unknown) => queueMicrotask(() => this.onmessage?.({ data })),
    }) as World;
    runInContext(sources.get(url) ?? "", this.#world);
  }

  postMessage(data: unknown): void {
    this.#world.onmessage?.({ data: structuredClone(data) });
  }
}

const sources = new Map<string, string>();
const fire = (id: number): void => {
  const timer = inWorker.get(id);
  inWorker.delete(id);
  timer?.run();
};
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A new page that loads the SDK; each has a module of its own. */
async function loadPage(name: string): Promise<typeof import("../src/worker-timers.js")> {
  page.timers.clear();
  inWorker.clear();
  FakeWorker.started = [];
  return (await import(`../src/worker-timers.js?${name}`)) as typeof import("../src/worker-timers.js");
}

const platform = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

test.before(() => {
  Object.assign(globalThis, {
    document: {},
    Worker: FakeWorker,
    Blob: class { readonly text: string; constructor(parts: string[]) { this.text = parts.join(""); } },
    setTimeout: (run: () => void) => (page.timers.set(++page.last, run), page.last),
    clearTimeout: (id: number) => void page.timers.delete(id),
  });
  URL.createObjectURL = (blob) => {
    const url = `blob:${sources.size}`;
    sources.set(url, (blob as unknown as { text: string }).text);
    return url;
  };
  URL.revokeObjectURL = () => {};
});

test.after(() => void Object.assign(globalThis, platform));

test("a hidden page's timers run in the worker, at their time and once", async () => {
  const { bestArm } = await loadPage("works");
  const arm = bestArm();
  await settle();
  const ran: string[] = [];
  arm(200, () => ran.push("a"));
  const cancel = arm(300, () => ran.push("b"));
  arm(400, () => ran.push("c"));
  assert.deepEqual([...inWorker.values()].map(({ ms }) => ms), [200, 300, 400]);
  assert.equal(page.timers.size, 0);
  cancel();
  cancel();
  assert.deepEqual([...inWorker.values()].map(({ ms }) => ms), [200, 400]);
  for (const id of [...inWorker.keys()]) fire(id);
  await settle();
  assert.deepEqual(ran, ["a", "c"]);
});

test("a timer that is cancelled while its message is under way does not run", async () => {
  const { bestArm } = await loadPage("cancelled");
  const arm = bestArm();
  await settle();
  const cancel = arm(1, () => assert.fail("cancelled"));
  fire(1);
  cancel();
  await settle();
});

test("all apps of a page share one worker", async () => {
  const { bestArm } = await loadPage("shared");
  assert.equal(bestArm(), bestArm());
  assert.equal(FakeWorker.started.length, 1);
});

test("until the worker runs, and where none may run, the page's own timers serve", async () => {
  const { bestArm } = await loadPage("early");
  const ran: string[] = [];
  bestArm()(200, () => ran.push("early"));
  await settle();
  assert.deepEqual([page.timers.size, inWorker.size], [1, 0]);
  page.wakeUp();
  FakeWorker.allowed = false;
  const { bestArm: forbidden } = await loadPage("forbidden");
  forbidden()(200, () => ran.push("forbidden"));
  await settle();
  assert.deepEqual([page.timers.size, inWorker.size], [1, 0]);
  page.wakeUp();
  FakeWorker.allowed = true;
  assert.deepEqual(ran, ["early", "forbidden"]);
});
