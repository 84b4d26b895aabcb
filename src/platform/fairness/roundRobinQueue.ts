import type { CallerPath } from "./fairShares.ts";

/** A queue that serves callers round-robin, whatever each of them has put into it. */
export interface RoundRobinQueue<T> {
  /** An item is in the queue once at most. */
  readonly add: (path: CallerPath, item: T) => void;
  /** Takes out the item whose turn it is; undefined when there is none. */
  readonly next: () => T | undefined;
  /** Takes out an item that does not want its turn any more; nothing happens when it is not there. */
  readonly remove: (path: CallerPath, item: T) => void;
  readonly isEmpty: () => boolean;
}

/** Those of one name: by the next name of their paths, or items in the order in which they came. Members and items that are first are next. */
interface Group<T> {
  readonly members: Map<string, Group<T>>;
  readonly items: Set<T>;
}

const group = <T>(): Group<T> => ({ members: new Map(), items: new Set() });

const isIdle = <T>({ members, items }: Group<T>): boolean => members.size === 0 && items.size === 0;

/**
 * Turns go around the outermost names of the paths, within each of them around the next ones, and at the end of a path to
 * whoever came first. So whoever has put a thousand items into the line delays another caller by one of them.
 */
export const createRoundRobinQueue = <T>(): RoundRobinQueue<T> => {
  const all = group<T>();

  const takeFrom = ({ members, items }: Group<T>): T | undefined => {
    for (const [name, member] of members) {
      members.delete(name);
      const item = takeFrom(member);
      if (!isIdle(member)) members.set(name, member);
      return item;
    }
    for (const item of items) {
      items.delete(item);
      return item;
    }
    return undefined;
  };

  const removeFrom = ({ members, items }: Group<T>, [name, ...inner]: CallerPath, item: T): void => {
    if (name === undefined) {
      items.delete(item);
      return;
    }
    const member = members.get(name);
    if (member === undefined) return;
    removeFrom(member, inner, item);
    if (isIdle(member)) members.delete(name);
  };

  return {
    add: (path, item) => {
      let found = all;
      for (const name of path) {
        let member = found.members.get(name);
        if (member === undefined) {
          member = group();
          found.members.set(name, member);
        }
        found = member;
      }
      found.items.add(item);
    },
    next: () => takeFrom(all),
    remove: (path, item) => removeFrom(all, path, item),
    isEmpty: () => isIdle(all),
  };
};
