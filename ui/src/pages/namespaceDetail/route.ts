import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/limits/:namespace",
  title: "Namespace",
  idPrefix: "rlns_",
  load: () => import("./NamespaceDetailPage.tsx"),
};
