import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/limits",
  title: "Rate limits",
  navigation: 50,
  load: () => import("./NamespaceListPage.tsx"),
  search: async (text, signal) => (await import("./search.ts")).search(text, signal),
};
