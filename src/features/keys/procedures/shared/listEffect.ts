/** What a list of permissions or roles does to those that a key holds (permissions §11). */
export type ListEffect = "add" | "remove" | "set";

/** The ids that are held afterwards, in stable order. */
export const applyList = (effect: ListEffect, held: readonly string[], listed: readonly string[]): readonly string[] => {
  if (effect === "remove") return held.filter((id) => !listed.includes(id));
  return [...new Set(effect === "add" ? [...held, ...listed] : listed)];
};

/** The items of a list in a request, which is wrapped where omitted differs from empty. */
export const itemsOf = (list: readonly string[] | { readonly values: readonly string[] } | undefined): readonly string[] =>
  list !== undefined && "length" in list ? list : (list?.values ?? []);
