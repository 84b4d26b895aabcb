import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/root-keys",
  title: "Root keys",
  navigation: 80,
  idPrefix: "rk_",
  load: () => import("./RootKeyListPage.tsx"),
};
