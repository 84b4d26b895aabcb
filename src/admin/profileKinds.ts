/** What can be recorded, by what it is called in addresses. */
export const profileKinds = ["cpu", "heap"] as const;
export type ProfileKind = (typeof profileKinds)[number];
