import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/identities/:externalId",
  title: "Identity",
  idPrefix: "id_",
  load: () => import("./IdentityDetailPage.tsx"),
};
