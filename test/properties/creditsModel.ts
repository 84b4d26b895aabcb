import fc from "fast-check";

/** The credits of a key under sequential operations (keys §§1.9, 3, 9; verify §6). */
export interface Credits {
  /** Absent = unlimited. */
  readonly remaining?: number;
  readonly refill?: Refill;
  /** The time up to which refills are in the balance. */
  readonly mark?: number;
}

export interface Refill {
  readonly interval: "daily" | "monthly";
  readonly amount: number;
  readonly refillDay?: number;
}

export type Action =
  | { readonly do: "verify"; readonly cost: number }
  | { readonly do: "set"; readonly value: number | null }
  | { readonly do: "increment" | "decrement"; readonly value: number }
  | { readonly do: "configure"; readonly credits: Configuration | null }
  /** Makes a copy; what is seen is the copy's credits. */
  | { readonly do: "reroll" }
  | { readonly do: "read" };

interface Configuration {
  readonly remaining?: number | null;
  readonly refill?: Refill | null;
}

/** The result that an action shows its caller, comparable as JSON. */
export type Seen = object | string;

const MOST = Number.MAX_SAFE_INTEGER;
const DAY = 86_400_000;

const isInstant = ({ interval, refillDay = 0 }: Refill, midnight: number): boolean => {
  if (interval === "daily") return true;
  const [today, tomorrow] = [new Date(midnight), new Date(midnight + DAY)];
  const lastDay = today.getUTCMonth() !== tomorrow.getUTCMonth();
  return today.getUTCDate() === refillDay || (lastDay && today.getUTCDate() < refillDay);
};

/** Walks the calendar midnight by midnight. */
const bringIn = (credits: Credits, now: number): Credits => {
  const { refill, mark } = credits;
  let { remaining } = credits;
  if (remaining === undefined || refill === undefined || mark === undefined) return credits;
  for (let midnight = (Math.floor(mark / DAY) + 1) * DAY; midnight <= now; midnight += DAY) {
    if (isInstant(refill, midnight)) remaining = Math.min(remaining + refill.amount, MOST);
  }
  return { remaining, refill, mark: Math.max(mark, now) };
};

const show = ({ remaining, refill }: Credits): Seen =>
  remaining === undefined ? {} : { credits: { remaining, ...(refill === undefined ? {} : { refill }) } };

const showBalance = ({ remaining, refill }: Credits): Seen => ({
  remaining: remaining ?? null,
  ...(refill === undefined ? {} : { refill }),
});

const configure = (credits: Credits, change: Configuration | null, now: number): Credits | undefined => {
  if (change === null || change.remaining === null) return {};
  const { remaining = credits.remaining, refill } = change;
  if (remaining === undefined) return refill ? undefined : {};
  if (refill === null) return { remaining };
  if (refill !== undefined) return { remaining, refill, mark: now };
  return { ...credits, remaining };
};

/** The credits after an action at `now`, and what its caller sees. */
const perform = (before: Credits, action: Action, now: number): { readonly after: Credits; readonly seen: Seen } => {
  const credits = bringIn(before, now);
  const { remaining } = credits;
  const refused = { after: credits, seen: "400" };
  const balance = (value: number) => {
    const after = { ...credits, remaining: value };
    return { after, seen: showBalance(after) };
  };
  switch (action.do) {
    case "read":
    case "reroll":
      return { after: credits, seen: show(credits) };
    case "verify": {
      if (remaining === undefined) return { after: credits, seen: { code: "VALID" } };
      if (action.cost > remaining) return { after: credits, seen: { code: "USAGE_EXCEEDED", credits: remaining } };
      const left = remaining - action.cost;
      return { after: { ...credits, remaining: left }, seen: { code: "VALID", credits: left } };
    }
    case "set":
      return action.value === null ? { after: {}, seen: showBalance({}) } : balance(action.value);
    case "increment":
      return remaining === undefined || action.value > MOST - remaining ? refused : balance(remaining + action.value);
    case "decrement":
      return remaining === undefined ? refused : balance(Math.max(0, remaining - action.value));
    case "configure": {
      const after = configure(credits, action.credits, now);
      return after === undefined ? refused : { after, seen: {} };
    }
  }
};

/** An action that was carried out, at the same time as others. */
export interface Result {
  readonly action: Action;
  readonly seen: Seen;
}

const same = (a: Seen, b: Seen): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(
        Object.entries(value)
          .toSorted(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, each]) => [name, sorted(each)]),
      )
    : value;

/**
 * The credits that are possible after concurrent actions: the ends of all sequential orders that explain
 * every caller's result. Empty: credits were lost or invented.
 */
export const possibleAfter = (before: readonly Credits[], results: readonly Result[], now: number): readonly Credits[] => {
  const ends = new Map<string, Credits>();
  const visited = new Set<string>();
  const walk = (credits: Credits, left: readonly Result[]): void => {
    const key = JSON.stringify([credits.remaining, credits.refill, credits.mark, left.map((each) => results.indexOf(each))]);
    if (visited.has(key)) return;
    visited.add(key);
    if (left.length === 0) ends.set(key, credits);
    for (const result of left) {
      const { after, seen } = perform(credits, result.action, now);
      if (same(seen, result.seen))
        walk(
          after,
          left.filter((each) => each !== result),
        );
    }
  };
  for (const credits of before) walk(credits, results);
  return [...ends.values()];
};

const amounts = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(0, 1, 1, 2, 3, 5, 10, 50) },
  { weight: 1, arbitrary: fc.constantFrom(MOST, MOST - 1) },
);
/** @param days on which monthly refills come. */
export const monthlyRefills = (...days: number[]): fc.Arbitrary<Refill> =>
  fc.record({ interval: fc.constant("monthly" as const), amount: fc.constantFrom(1, 20), refillDay: fc.constantFrom(...days) });
const anyRefills: fc.Arbitrary<Refill> = fc.oneof(
  fc.record({ interval: fc.constant("daily" as const), amount: fc.constantFrom(1, 2, 10, MOST) }),
  monthlyRefills(1, 15, 28, 29, 30, 31),
);

const actions = ({ unlimited, refills = anyRefills }: Possibilities): fc.Arbitrary<Action> => {
  const verify = fc.record({ do: fc.constant("verify" as const), cost: fc.constantFrom(0, 1, 1, 1, 2, 3, 7, 40) });
  const change = fc.record({ do: fc.constantFrom("increment" as const, "decrement" as const), value: amounts });
  const set = fc.record({ do: fc.constant("set" as const), value: unlimited ? fc.option(amounts, { freq: 4 }) : amounts });
  const configuration = fc.oneof(
    fc.record({ remaining: amounts, refill: fc.option(refills) }, { requiredKeys: [] }),
    ...(unlimited ? [fc.constant(null), fc.constant({ remaining: null })] : []),
  );
  const configured = fc.record({ do: fc.constant("configure" as const), credits: configuration });
  return fc.oneof(
    { weight: 6, arbitrary: verify },
    { weight: 3, arbitrary: change },
    { weight: 1, arbitrary: set },
    { weight: 2, arbitrary: configured },
    { weight: 1, arbitrary: fc.constant({ do: "reroll" as const }) },
    { weight: 1, arbitrary: fc.constant({ do: "read" as const }) },
  );
};

export interface Possibilities {
  /** The key may be, and become, unlimited. */
  readonly unlimited: boolean;
  /** Any unless told. */
  readonly refills?: fc.Arbitrary<Refill>;
}

/** Actions of one moment, each with the number of the node that gets it. */
export interface Batch {
  /** Time that passes before: more than any cache keeps. */
  readonly wait: number;
  readonly calls: readonly { readonly action: Action; readonly node: number }[];
}

const waits = [0, 0, 40_000, 6 * 3_600_000, DAY, 3 * DAY, 31 * DAY];

/** @param parallel calls of one moment, at most. @param timeless no time passes. */
export const batches = (
  options: Possibilities & { readonly parallel: number; readonly nodes: number; readonly timeless?: boolean },
): fc.Arbitrary<Batch[]> => {
  const call = fc.record({ action: actions(options), node: fc.nat({ max: options.nodes - 1 }) });
  const calls = fc.array(call, { minLength: 1, maxLength: options.parallel });
  return fc.array(fc.record({ wait: options.timeless ? fc.constant(0) : fc.constantFrom(...waits), calls }), {
    minLength: 1,
    maxLength: 8,
  });
};

export const startingCredits = ({ unlimited, refills = anyRefills }: Possibilities): fc.Arbitrary<Omit<Credits, "mark">> =>
  fc.oneof(fc.record({ remaining: amounts, refill: refills }, { requiredKeys: ["remaining"] }), ...(unlimited ? [fc.constant({})] : []));
