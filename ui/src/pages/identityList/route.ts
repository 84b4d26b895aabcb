import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/identities",
  title: "Identities",
  navigation: 20,
  load: () => import("./IdentityListPage.tsx"),
  search: async (text, signal) => (await import("./search.ts")).search(text, signal),
};
