import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/sql",
  title: "SQL",
  navigation: 80,
  load: () => import("./SqlPage.tsx"),
};
