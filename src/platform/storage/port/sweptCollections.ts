/** Collections of objects whose ids others hold: what a deletion leaves behind there is swept. */
export const sweptCollections = ["apis", "identities", "permissions", "roles"] as const;
export type SweptCollection = (typeof sweptCollections)[number];
