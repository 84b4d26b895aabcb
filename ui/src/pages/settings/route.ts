import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/settings",
  title: "Settings",
  navigation: 100,
  load: () => import("./SettingsPage.tsx"),
};
