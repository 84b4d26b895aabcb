import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/audit",
  title: "Audit",
  navigation: 90,
  load: () => import("./AuditPage.tsx"),
};
