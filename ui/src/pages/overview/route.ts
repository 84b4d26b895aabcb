import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui",
  title: "Overview",
  navigation: 0,
  load: () => import("./OverviewPage.tsx"),
};
