import { matchPath, type PathParams } from "./matchPath.ts";
import type { Route } from "./route.ts";

/** Every page that exists, by the `route.ts` of its folder. */
export const routes: readonly Route[] = Object.values(import.meta.glob<Route>("../pages/*/route.ts", { eager: true, import: "route" }));

/** Those of the navigation, in order. */
export const navigationRoutes: readonly Route[] = routes
  .filter(({ navigation }) => navigation !== undefined)
  .sort((one, other) => (one.navigation ?? 0) - (other.navigation ?? 0));

/** The page of a path; one without parameters goes before one with. */
export const findRoute = (path: string): { readonly route: Route; readonly params: PathParams } | undefined => {
  const found = routes.flatMap((route) => {
    const params = matchPath(route.path, path);
    return params === undefined ? [] : [{ route, params }];
  });
  return found.sort((one, other) => Object.keys(one.params).length - Object.keys(other.params).length)[0];
};

/** Where signing in leads: the first page of the navigation. */
export const home: string = navigationRoutes[0]?.path ?? "/ui";
