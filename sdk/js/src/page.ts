import type { Cancel } from "./timers.js";

/** What a browser says about its network and its page. */
export interface PageHandlers {
  /** The network is there again. */
  handleOnline(): void;
  /** The page is looked at again; the machine may have slept. */
  handleVisible(): void;
}

/** Listens to the page, if there is one. */
export function watchPage(handlers: PageHandlers): Cancel {
  if (typeof globalThis.addEventListener !== "function") return () => {};
  const handleOnline = (): void => handlers.handleOnline();
  const handleVisibility = (): void => {
    if (document.visibilityState === "visible") handlers.handleVisible();
  };
  globalThis.addEventListener("online", handleOnline);
  if (typeof document !== "undefined") {
    document.addEventListener("visibilitychange", handleVisibility);
  }
  return () => {
    globalThis.removeEventListener("online", handleOnline);
    if (typeof document !== "undefined") {
      document.removeEventListener("visibilitychange", handleVisibility);
    }
  };
}
