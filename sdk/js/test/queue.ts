/** Things that happen, to be taken one by one in their order. */
const PATIENCE_MS = 5_000;

export class Queue<T> {
  readonly #what: string;
  readonly #items: T[] = [];
  #waiting: ((item: T) => void) | undefined;

  constructor(what: string) {
    this.#what = what;
  }

  push(item: T): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) waiting(item);
    else this.#items.push(item);
  }

  /** The next one; fails if it does not come. */
  next(): Promise<T> {
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift() as T);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting = undefined;
        reject(new Error(`${this.#what} did not come within ${PATIENCE_MS} ms`));
      }, PATIENCE_MS);
      this.#waiting = (item) => {
        clearTimeout(timer);
        resolve(item);
      };
    });
  }

  rest(): T[] {
    return [...this.#items];
  }
}
