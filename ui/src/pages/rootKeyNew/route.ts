import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/root-keys/new",
  title: "New root key",
  load: () => import("./RootKeyNewPage.tsx"),
};
