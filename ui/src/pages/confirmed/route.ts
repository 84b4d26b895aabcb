import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/confirmed",
  title: "Confirmation",
  load: () => import("./ConfirmedPage.tsx"),
};
