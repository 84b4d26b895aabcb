import type { Route } from "./route.ts";

/** The page of an id that was pasted: `api_…` → `/ui/apis/api_…`. @returns undefined for what is no id of a page that exists */
export const idTarget = (text: string, routes: readonly Pick<Route, "path" | "idPrefix" | "idPath">[]): string | undefined => {
  const id = text.trim();
  if (!/^[a-zA-Z0-9_]{8,255}$/.test(id)) return undefined;
  const route = routes.find(({ idPrefix }) => idPrefix !== undefined && id.startsWith(idPrefix));
  return (route?.idPath ?? route?.path)?.replace(/:[^/]+/, encodeURIComponent(id));
};
