import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/access",
  title: "Access",
  navigation: 30,
  idPrefix: "role_",
  idPath: "/ui/access?role=:id",
  load: () => import("./AccessPage.tsx"),
  search: async (text, signal) => (await import("./search.ts")).search(text, signal),
};
