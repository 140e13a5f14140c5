/** The memory of calls, as scripts: what is delivered, and what is to be done with it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallMemory, MEMORY_BOUNDS, type Delivery } from "../src/calls.js";

const SECOND = 1000;
const RUN: Delivery = { kind: "run" };
const UNKNOWN: Delivery = { kind: "unknown" };

/** A memory with its clock. */
function start(bounds: Partial<Record<keyof typeof MEMORY_BOUNDS, number>> = {}) {
  const memory = new CallMemory({ ...MEMORY_BOUNDS, ...bounds } as typeof MEMORY_BOUNDS);
  return {
    now: 0,
    deliver(id: string, attempt = 0, deadlineMs = 120 * SECOND): Delivery {
      return memory.handleDelivery(id, attempt, deadlineMs, this.now);
    },
    finish(id: string, answer = `answer of ${id}`): void {
      memory.handleFinished(id, answer, this.now);
    },
    /** Runs a call from its delivery to its end. */
    run(id: string, answer?: string): void {
      assert.deepEqual(this.deliver(id), RUN);
      this.finish(id, answer);
    },
    settle(...ids: string[]): void {
      memory.handleSettled(ids);
    },
  };
}

test("a running call is attached to, a finished one answered from memory", () => {
  const m = start();
  assert.deepEqual(m.deliver("a"), RUN);
  assert.deepEqual(m.deliver("a", 1), { kind: "running" });
  assert.deepEqual(m.deliver("a"), { kind: "running" });
  m.finish("a");
  assert.deepEqual(m.deliver("a", 2), { kind: "finished", answer: "answer of a" });
  assert.deepEqual(m.deliver("a", 3), { kind: "finished", answer: "answer of a" });
});

test("an unknown call is run, also when it is delivered again", () => {
  assert.deepEqual(start().deliver("a", 2), RUN);
});

test("a settled call's answer is gone, but it is not run again", () => {
  const m = start();
  m.run("a");
  m.settle("a", "never heard of");
  assert.deepEqual(m.deliver("a", 1), UNKNOWN);
});

test("a call that still runs is not forgotten, whatever its age", () => {
  const m = start();
  assert.deepEqual(m.deliver("a"), RUN);
  m.now = 3600 * SECOND;
  assert.deepEqual(m.deliver("a", 1), { kind: "running" });
});

test("answers are kept for 120 s", () => {
  const m = start();
  m.run("a");
  m.now = 120 * SECOND - 1;
  assert.equal(m.deliver("a", 1).kind, "finished");
  m.now += 1;
  assert.deepEqual(m.deliver("a", 1), UNKNOWN);
});

test("at most 128 answers are kept, the newest", () => {
  const m = start();
  for (let i = 0; i < 129; i++) m.run(`c${i}`);
  assert.deepEqual(m.deliver("c0", 1), UNKNOWN);
  assert.equal(m.deliver("c1", 1).kind, "finished");
  m.settle("c1", "c2");
  m.run("c129");
  m.run("c130");
  assert.equal(m.deliver("c3", 1).kind, "finished");
});

test("at most 16 MiB of answers are kept, counted in UTF-8", () => {
  const m = start();
  const megabytes4 = "é".repeat(2 * 1024 * 1024);
  for (const id of ["a", "b", "c", "d"]) m.run(id, megabytes4);
  assert.equal(m.deliver("a", 1).kind, "finished");
  m.run("e", "x");
  assert.deepEqual(m.deliver("a", 1), UNKNOWN);
  assert.equal(m.deliver("b", 1).kind, "finished");
});

test("IDs are kept for the longest deadline and a minute", () => {
  const m = start();
  m.run("a");
  m.now = 180 * SECOND - 1;
  assert.deepEqual(m.deliver("a", 1), UNKNOWN);
  m.now += 1;
  assert.deepEqual(m.deliver("a", 1), RUN);

  const long = start();
  assert.deepEqual(long.deliver("a", 0, 900 * SECOND), RUN);
  long.finish("a");
  long.now = 960 * SECOND - 1;
  assert.deepEqual(long.deliver("a", 1), UNKNOWN);
  long.now += 1;
  assert.deepEqual(long.deliver("a", 1), RUN);
});

test("after an ID was dropped before its time, only later ones are run when they come again", () => {
  const m = start({ ids: 2 });
  for (const id of ["20", "10", "30", "40"]) m.run(id);
  assert.deepEqual(m.deliver("10", 1), UNKNOWN);
  assert.deepEqual(m.deliver("20", 1), UNKNOWN);
  assert.deepEqual(m.deliver("15", 1), UNKNOWN, "it may be one of them");
  assert.deepEqual(m.deliver("25", 1), RUN, "it cannot be one of them");
  assert.deepEqual(m.deliver("14", 0), RUN, "no redelivery");
});
