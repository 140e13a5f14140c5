/** Stops a timer, or ends a subscription; harmless when that has happened already. */
export type Cancel = () => void;

/** Arms one timer of at most {@link LONGEST_MS}. */
export type Arm = (ms: number, run: () => void) => Cancel;

/** A clock that only moves forward, and timers on it; times in milliseconds. */
export interface Timers {
  now(): number;
  after(ms: number, run: () => void): Cancel;
}

/** setTimeout takes longer times for 1 ms. */
const LONGEST_MS = 2 ** 31 - 1;

/** The platform's own timer. */
export const armTimeout: Arm = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** Timers of any length, none of which runs early, on a clock that ignores the wall clock. */
export function timersFrom(arm: Arm, now: () => number = () => performance.now()): Timers {
  return {
    now,
    after(ms, run) {
      const due = now() + ms;
      let cancel: Cancel;
      const step = (): void => {
        const left = due - now();
        if (left > 0) cancel = arm(Math.min(Math.ceil(left), LONGEST_MS), step);
        else run();
      };
      cancel = arm(Math.min(Math.max(ms, 0), LONGEST_MS), step);
      return () => cancel();
    },
  };
}
