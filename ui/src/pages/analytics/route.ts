import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/analytics",
  title: "Analytics",
  navigation: 60,
  load: () => import("./AnalyticsPage.tsx"),
};
