/** A priority queue: items of which the least is at hand. */
export interface MinHeap<T> {
  readonly push: (item: T) => void;
  /** Takes out the least; undefined: there is none. */
  readonly pop: () => T | undefined;
}

/** A binary heap. @param isBefore a strict order; an item must not change its place in it while it is in here. */
export const createMinHeap = <T>(isBefore: (a: T, b: T) => boolean): MinHeap<T> => {
  const items: T[] = [];
  const at = (index: number): T => items[index] as T;
  /** Puts an item where there is a place without one. */
  const settle = (start: number, item: T): void => {
    let index = start;
    for (let child = 2 * index + 1; child < items.length; child = 2 * index + 1) {
      if (child + 1 < items.length && isBefore(at(child + 1), at(child))) child++;
      if (!isBefore(at(child), item)) break;
      items[index] = at(child);
      index = child;
    }
    items[index] = item;
  };
  return {
    push: (item) => {
      let index = items.push(item) - 1;
      for (let parent = (index - 1) >> 1; index > 0 && isBefore(item, at(parent)); parent = (index - 1) >> 1) {
        items[index] = at(parent);
        index = parent;
      }
      items[index] = item;
    },
    pop: () => {
      const least = items[0];
      const last = items.pop();
      if (items.length > 0) settle(0, last as T);
      return least;
    },
  };
};
