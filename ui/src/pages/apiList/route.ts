import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/apis",
  title: "APIs",
  navigation: 10,
  load: () => import("./ApiListPage.tsx"),
  search: async (text, signal) => (await import("./search.ts")).search(text, signal),
};
