/**
 * Goes round and round over a live collection: each call yields at most `count` items, from where the last call stopped,
 * and ends at the end of the collection; the next one then begins anew.
 */
export const takeTurns = <T>(items: { readonly values: () => Iterator<T> }): ((count: number) => Generator<T, void>) => {
  let rest = items.values();
  return function* (count) {
    for (let i = 0; i < count; i++) {
      const { done, value } = rest.next();
      if (done) {
        rest = items.values();
        return;
      }
      yield value;
    }
  };
};
