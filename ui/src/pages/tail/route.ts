import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/tail",
  title: "Tail",
  navigation: 70,
  load: () => import("./TailPage.tsx"),
};
