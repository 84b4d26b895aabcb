import type { Route } from "../../router/route.ts";

export const route: Route = {
  path: "/ui/keys/:id",
  title: "Key",
  idPrefix: "key_",
  load: () => import("./KeyDetailPage.tsx"),
  search: async (text, signal) => (await import("./search.ts")).search(text, signal),
};
