/**
 * A round-robin walk over a live collection: each call yields at most `count` items, from where the last call stopped,
 * and ends at the end of the collection; the next one then begins anew. An iterator that rests keeps what has left a map
 * since, so each lives for one walk.
 */
export const resumableWalk = <T>(items: { readonly values: () => Iterator<T> }): ((count: number) => Generator<T, void>) => {
  let rest: Iterator<T> | undefined;
  return function* (count) {
    rest ??= items.values();
    for (let i = 0; i < count; i++) {
      const { done, value } = rest.next();
      if (done) {
        rest = undefined;
        return;
      }
      yield value;
    }
  };
};
