/**
 * Browsers slow the timers of hidden pages down to one a minute, but not those of workers. In a
 * page, timers therefore run in a tiny worker, as soon as one could be started; a policy that
 * forbids it (CSP `worker-src`) leaves the page's own timers.
 */
import { armTimeout, type Arm } from "./timers.js";

const WORKER_SOURCE = `
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

let shared: Arm | undefined;

/** The best timer of this platform; all apps of a page share one worker. */
export function bestArm(): Arm {
  const inPage = typeof document !== "undefined" && typeof Worker === "function";
  shared ??= inPage ? armInWorker() : armTimeout;
  return shared;
}

function armInWorker(): Arm {
  const pending = new Map<number, () => void>();
  let ready: Worker | undefined;
  let lastId = 0;

  startWorker((worker) => (ready = worker), (id) => {
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

/** `onReady` is called only if the worker really runs: a forbidden one fails later, or silently. */
function startWorker(onReady: (worker: Worker) => void, onFired: (id: number) => void): void {
  try {
    const url = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
    const worker = new Worker(url);
    worker.onmessage = ({ data }: MessageEvent<number | "ready">) => {
      if (data !== "ready") return onFired(data);
      URL.revokeObjectURL(url);
      onReady(worker);
    };
    worker.onerror = (event) => event.preventDefault();
  } catch {
    // No worker here: the page's own timers serve.
  }
}
