import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/find",
  title: "Find",
  navigation: 15,
  load: () => import("./FindPage.tsx"),
};
