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
