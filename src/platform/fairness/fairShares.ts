/**
 * Who takes: names from the outermost group inwards, such as a root key and the address it is used from. Names need to
 * be unique within their group only.
 */
export type CallerPath = readonly string[];

/** What one caller has taken. Every function may be called again and again; after `give` none does anything. */
export interface Share {
  /** Takes more, or says that it may not. */
  readonly grow: (by: number) => boolean;
  /** It cannot be evicted any more. */
  readonly pin: () => void;
  readonly give: () => void;
}

/** A bounded resource that callers share. */
export interface FairShares {
  /** Whether anybody may take so much now, whatever he has: the question to ask where counting costs too much. */
  readonly hasRoom: (amount: number) => boolean;
  /**
   * Takes `amount`, at once or not at all (undefined). With `evict` the share may be taken away again, as long as it is
   * not pinned, when its caller has more than is fair and another has less: it is called once and must `give`.
   */
  readonly take: (path: CallerPath, amount: number, evict?: () => void) => Share | undefined;
  /** Everything that is taken now. */
  readonly taken: () => number;
  /** Callers that have something, or wait for it to be given back. */
  readonly callers: () => number;
}

export interface FairSharesOptions {
  readonly capacity: number;
  /** What may be taken beyond the capacity, in multiples of it: as much again unless told; see `createFairShares`. */
  readonly overdraft?: number;
  /** The most that one member of each level of a path may have, from the outermost inwards; no bound where left out. */
  readonly most?: readonly number[];
  readonly onChange?: ((taken: number) => void) | undefined;
  /** Hears of every refusal and every eviction. */
  readonly onRefused?: (() => void) | undefined;
}

interface Group {
  readonly name: string;
  readonly parent: Group | undefined;
  readonly most: number;
  members: Map<string, Group> | undefined;
  taken: number;
  /** Shares of it and its members that may be taken away. */
  evictables: number;
  /** Those of a caller itself, oldest first. */
  evictable: Set<() => void> | undefined;
}

/** Of the overdraft, what is for callers that have something already; the rest is for those that have nothing. */
const SHARED = 1 / 2;
/** Of what is left of the overdraft, the most that the first share of a caller may be. */
const FIRST = 1 / 8;

/**
 * Divides a resource between callers. As long as there is room, anybody may have everything: many callers stand behind one
 * address or one root key. Once there is none, only those may take who would still have no more than their fair share: the
 * capacity divided by those that have something, and so would every group that they are in, or whoever has many addresses
 * would have many times his share. Room for them is made by evicting from whoever has most of those that have more than that; where nothing can be
 * evicted they go beyond the capacity, up to half of the overdraft. As fair shares are made anew for everyone who comes, a few
 * that come one after the other would use up any overdraft: its other half is for the first share of whoever has nothing
 * in any group, and that only a small one. So whoever takes a lot keeps others waiting no longer than whoever takes
 * little, and the resource is bounded.
 */
export const createFairShares = ({ capacity, overdraft = 1, most = [], onChange, onRefused }: FairSharesOptions): FairShares => {
  const group = (name: string, parent: Group | undefined, level: number): Group => ({
    name,
    parent,
    most: most[level] ?? Number.POSITIVE_INFINITY,
    members: undefined,
    taken: 0,
    evictables: 0,
    evictable: undefined,
  });
  const all = group("", undefined, -1);
  let leaves = 0;

  const find = (path: CallerPath): Group => {
    let found = all;
    path.forEach((name, level) => {
      found.members ??= new Map();
      let member = found.members.get(name);
      if (member === undefined) {
        member = group(name, found, level);
        found.members.set(name, member);
        if (level === path.length - 1) leaves++;
      }
      found = member;
    });
    return found;
  };

  /** Forgets who has nothing. */
  const tidy = (leaf: Group): void => {
    if (leaf.taken > 0 || leaf.parent?.members?.get(leaf.name) !== leaf) return;
    leaves--;
    for (let each: Group = leaf; each.parent !== undefined && each.taken === 0 && !each.members?.size; each = each.parent) {
      each.parent.members?.delete(each.name);
    }
  };

  const fairShare = ({ parent }: Group): number => (parent === undefined ? capacity : fairShare(parent) / (parent.members?.size ?? 1));

  /** Every group on the way to the caller has so little that this is within its fair share. */
  const isDue = (leaf: Group, amount: number): boolean => {
    for (let each: Group = leaf; each.parent !== undefined; each = each.parent) if (each.taken + amount > fairShare(each)) return false;
    return true;
  };

  /** Nothing is taken by the outermost group either: one that has something does not get more by new names within it. */
  const hasNothing = ({ taken, parent }: Group): boolean => taken === 0 && (parent === undefined || parent === all || hasNothing(parent));

  const isTooMuch = (leaf: Group, amount: number): boolean => {
    for (let each: Group = leaf; each.parent !== undefined; each = each.parent) if (each.taken + amount > each.most) return true;
    return false;
  };

  const countEvictable = (leaf: Group, by: number): void => {
    for (let each: Group | undefined = leaf; each !== undefined; each = each.parent) each.evictables += by;
  };

  const addEvictable = (leaf: Group, evict: () => void): void => {
    leaf.evictable ??= new Set();
    leaf.evictable.add(evict);
    countEvictable(leaf, 1);
  };

  const removeEvictable = (leaf: Group, evict: () => void): void => {
    if (leaf.evictable?.delete(evict)) countEvictable(leaf, -1);
  };

  /** Who has most of those of whom something can be taken away. Nothing is taken from groups that have no more than is fair. */
  const largestEvictable = (parent: Group): Group | undefined => {
    if (parent.members === undefined || parent.members.size === 0) return parent;
    let largest: Group | undefined;
    for (const member of parent.members.values()) {
      const isFair = parent === all && member.taken <= fairShare(member);
      if (member.evictables > 0 && !isFair && (largest === undefined || member.taken > largest.taken)) largest = member;
    }
    return largest && largestEvictable(largest);
  };

  /** Takes away the oldest share that can be taken away of whoever has most; false when there is none, or that gains nothing. */
  const evictFromLargest = (): boolean => {
    const largest = all.evictables === 0 ? undefined : largestEvictable(all);
    const [evict] = largest?.evictable ?? [];
    if (largest === undefined || evict === undefined) return false;
    const before = all.taken;
    removeEvictable(largest, evict);
    onRefused?.();
    evict();
    return all.taken < before;
  };

  const admits = (leaf: Group, amount: number): boolean => {
    if (isTooMuch(leaf, amount)) return false;
    if (all.taken + amount <= capacity) return true;
    if (isDue(leaf, amount)) {
      while (all.taken + amount > capacity && evictFromLargest());
      if (all.taken + amount <= capacity * (1 + overdraft * SHARED)) return true;
    }
    const left = capacity * (1 + overdraft) - all.taken;
    return hasNothing(leaf) && amount <= left && amount <= Math.max(1, left * FIRST);
  };

  const add = (leaf: Group, amount: number): void => {
    for (let each: Group | undefined = leaf; each !== undefined; each = each.parent) each.taken += amount;
    onChange?.(all.taken);
  };

  return {
    hasRoom: (amount) => all.taken + amount <= capacity,
    take: (path, amount, evict) => {
      const leaf = find(path);
      if (!admits(leaf, amount)) {
        tidy(leaf);
        onRefused?.();
        return undefined;
      }
      add(leaf, amount);
      let held = amount;
      let isGiven = false;
      const pin = (): void => {
        if (evict !== undefined) removeEvictable(leaf, evict);
      };
      if (evict !== undefined) addEvictable(leaf, evict);
      return {
        grow: (by) => {
          if (isGiven) return false;
          if (!admits(leaf, by)) {
            onRefused?.();
            return false;
          }
          // Making room may have taken this very share away.
          if (isGiven) return false;
          held += by;
          add(leaf, by);
          return true;
        },
        pin,
        give: () => {
          if (isGiven) return;
          isGiven = true;
          pin();
          add(leaf, -held);
          tidy(leaf);
        },
      };
    },
    taken: () => all.taken,
    callers: () => leaves,
  };
};
