import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/nodes",
  title: "Nodes",
  navigation: 90,
  load: () => import("./NodesPage.tsx"),
};
