import type { Cancel, Timers } from "../src/timers.js";

interface Timer {
  due: number;
  run: () => void;
}

/** A clock that stands still until it is told to jump. */
export class FakeTimers implements Timers {
  #now = 1_000_000;
  #timers: Timer[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Cancel {
    const timer = { due: this.#now + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Jumps ahead, running what falls due on the way at its time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ due }) => due <= end).sort((a, b) => a.due - b.due)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.due);
      next.run();
    }
    this.#now = end;
  }

  get pending(): number {
    return this.#timers.length;
  }
}
