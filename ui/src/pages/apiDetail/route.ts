import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/apis/:id",
  title: "API",
  idPrefix: "api_",
  load: () => import("./ApiDetailPage.tsx"),
};
