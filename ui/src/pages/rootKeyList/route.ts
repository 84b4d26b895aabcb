import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/root-keys",
  title: "Root keys",
  navigation: 80,
  idPrefix: "rk_",
  idPath: "/ui/root-keys?key=:id",
  load: () => import("./RootKeyListPage.tsx"),
};
