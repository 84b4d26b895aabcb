import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/sign-in",
  title: "Sign in",
  withoutSession: true,
  load: () => import("./SignInPage.tsx"),
};
