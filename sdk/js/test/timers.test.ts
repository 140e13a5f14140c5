import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { armTimeout, timersFrom, type Arm } from "../src/timers.js";

/** A platform whose timers hold what setTimeout holds, and which records what is armed. */
function platform() {
  const armed: number[] = [];
  let run: (() => void) | undefined;
  const arm: Arm = (ms, callback) => {
    armed.push(ms);
    run = callback;
    return () => (run = undefined);
  };
  return { arm, armed, now: 0, fire: () => run?.() };
}

test("a time longer than setTimeout takes is waited for in pieces", () => {
  const p = platform();
  const runs = mock.fn();
  const longest = 2 ** 31 - 1;
  timersFrom(p.arm, () => p.now).after(longest * 2 + 10, runs);
  for (const now of [longest, longest * 2, longest * 2 + 10]) {
    p.now = now;
    assert.equal(runs.mock.callCount(), 0);
    p.fire();
  }
  assert.deepEqual(p.armed, [longest, longest, 10]);
  assert.equal(runs.mock.callCount(), 1);
});

test("a timer that fires early is armed again", () => {
  const p = platform();
  const runs = mock.fn();
  const cancel = timersFrom(p.arm, () => p.now).after(10, runs);
  p.now = 9.5;
  p.fire();
  assert.deepEqual([p.armed, runs.mock.callCount()], [[10, 1], 0]);
  cancel();
  p.now = 20;
  p.fire();
  assert.equal(runs.mock.callCount(), 0);
});

test("the platform's timers run, and can be cancelled", async () => {
  const timers = timersFrom(armTimeout);
  const started = timers.now();
  const cancel = timers.after(1, () => assert.fail("cancelled"));
  cancel();
  await new Promise<void>((resolve) => timers.after(5, resolve));
  assert.ok(timers.now() - started >= 5);
});
