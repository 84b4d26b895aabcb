import type { ComponentType } from "preact";
import { loadPart } from "./loadPart.ts";
import type { PageProps, Route } from "./route.ts";

const loaded = new Map<Route, ComponentType<PageProps>>();

/** The page, if it was loaded before. */
export const loadedPage = (route: Route): ComponentType<PageProps> | undefined => loaded.get(route);

/** Loads a page when it is first shown. */
export const loadPage = async (route: Route): Promise<ComponentType<PageProps>> => {
  const { Page } = await loadPart(route.load);
  loaded.set(route, Page);
  return Page;
};

/** Calls back when the browser has nothing else to do. Safari does not report that: there, after a moment. */
const whenIdle = (callback: () => void): void => {
  if (typeof requestIdleCallback === "function") requestIdleCallback(callback);
  else setTimeout(callback, 200);
};

/**
 * Loads the pages one after another while the browser is idle, so that they open while the service does not answer. The first failure
 * ends it: what is missing is loaded when it is shown.
 * @returns ends it
 */
export const preloadPages = (routes: readonly Route[]): (() => void) => {
  const left = routes.filter((route) => !loaded.has(route));
  let ended = false;
  const loadNext = async (): Promise<void> => {
    const route = left.shift();
    if (ended || route === undefined) return;
    const { Page } = await route.load();
    loaded.set(route, Page);
    whenIdle(next);
  };
  const next = (): void => {
    loadNext().catch(() => undefined);
  };
  whenIdle(next);
  return () => {
    ended = true;
  };
};
