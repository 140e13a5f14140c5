import type { Cancel } from "./timers.js";

/** A typed list of listeners per event. */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<(value: never) => void>>();

  /** Calls `listener` on each event; the returned function takes it off again. */
  on<Name extends keyof Events>(name: Name, listener: (value: Events[Name]) => void): Cancel {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** A listener that throws harms neither the others nor the connection. */
  protected emit<Name extends keyof Events>(name: Name, value: Events[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        (listener as (value: Events[Name]) => void)(value);
      } catch (error) {
        this.handleListenerError(error);
      }
    }
  }

  protected handleListenerError(error: unknown): void {
    console.error(error);
  }
}
