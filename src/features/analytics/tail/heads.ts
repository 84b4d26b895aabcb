/** How long rows that are missing are waited for: on a cluster those of one writer may reach a replica in another order. */
const HOLD_MS = 5_000;

/** Place in what all writers have inserted: the last row that was read of each, by writer. */
export type Place = ReadonlyMap<string, number>;

/** What there is of one writer beyond what was asked for. */
export interface WriterRows {
  readonly writer: string;
  /** Of the first and the last row. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
}

/** Rows of one writer, from `base` (exclusive) to `upper` (inclusive). */
export interface Range {
  readonly writer: string;
  readonly base: number;
  readonly upper: number;
}

/** Where the rows of one writer go on, after some that were lost. */
interface Gap {
  /** The row before it. */
  readonly at: number;
  readonly count: number;
}

interface Region {
  /** The first row that may still be there. */
  readonly low: number;
  /** All rows up to this have come, or will not. */
  readonly high: number;
  readonly gaps: readonly Gap[];
}

/** How far the rows of each writer have come. */
export interface Heads {
  /** All that can be read. */
  readonly place: () => Place;
  /** Takes in all rows that there are, and forgets those that are gone. @returns new writers of which some are missing. */
  readonly begin: (rows: readonly WriterRows[]) => readonly string[];
  /** Takes in those beyond `place`. @param now monotonic ms. @returns writers of which some are missing for good. */
  readonly advance: (rows: readonly WriterRows[], now: number) => readonly string[];
  /** What there is, in stretches without a gap, of writers that `begin` or `advance` have named. */
  readonly explain: (stretches: readonly WriterRows[]) => void;
  /** What there is beyond a place, at most so many rows of each writer. */
  readonly rangesFrom: (place: Place, most: number) => readonly Range[];
  /** Rows between two places that nobody can read any more. */
  readonly lostBetween: (from: Place, to: Place) => number;
}

/** Nothing is known before `begin`. */
export const createHeads = (): Heads => {
  let regions = new Map<string, Region>();
  /** Since when a writer's next rows are missing. */
  const heldSince = new Map<string, number>();

  const isWhole = ({ first, last, count }: WriterRows): boolean => count >= last - first + 1;

  return {
    place: () => new Map(regions.entries().map(([writer, { high }]) => [writer, high])),
    begin: (rows) => {
      const before = regions;
      const isFirst = before.size === 0;
      regions = new Map(
        rows.flatMap(({ writer, first, last }): [string, Region][] => {
          const known = before.get(writer);
          if (known === undefined) return isFirst ? [[writer, { low: first, high: last, gaps: [] }]] : [];
          const low = Math.max(known.low, first);
          return [[writer, { ...known, low, gaps: known.gaps.filter(({ at }) => at >= low) }]];
        }),
      );
      for (const writer of heldSince.keys()) if (!regions.has(writer)) heldSince.delete(writer);
      return isFirst ? rows.filter((each) => !isWhole(each)).map(({ writer }) => writer) : [];
    },
    advance: (rows, now) => {
      const lacking: string[] = [];
      for (const each of rows) {
        const { writer, first, last } = each;
        const known = regions.get(writer);
        const isComplete = isWhole(each) && first <= (known?.high ?? 0) + 1;
        if (!isComplete) {
          const since = heldSince.get(writer) ?? now;
          heldSince.set(writer, since);
          if (now - since < HOLD_MS) continue;
          lacking.push(writer);
        }
        heldSince.delete(writer);
        regions.set(writer, known ? { ...known, high: last } : { low: first, high: last, gaps: [] });
      }
      return lacking;
    },
    explain: (stretches) => {
      for (const [writer, parts] of Map.groupBy(stretches, (each) => each.writer)) {
        const region = regions.get(writer);
        if (region === undefined) continue;
        const gaps = parts
          .toSorted((a, b) => a.first - b.first)
          .flatMap(({ first }, i, all): Gap[] => {
            const end = all[i - 1]?.last;
            return end === undefined ? [] : [{ at: first - 1, count: first - 1 - end }];
          });
        regions.set(writer, { ...region, gaps });
      }
    },
    rangesFrom: (place, most) =>
      [...regions].flatMap(([writer, { low, high }]): Range[] => {
        const base = Math.max(place.get(writer) ?? 0, low - 1);
        return high > base ? [{ writer, base, upper: Math.min(high, base + most) }] : [];
      }),
    lostBetween: (from, to) => {
      let lost = 0;
      for (const [writer, { low, gaps }] of regions) {
        const start = from.get(writer);
        const end = to.get(writer) ?? 0;
        // Of a writer that is new here nobody can say what there was before the first row.
        if (start !== undefined) lost += Math.max(0, Math.min(low - 1, end) - start);
        for (const { at, count } of gaps) if (at > (start ?? 0) && at <= end) lost += count;
      }
      return lost;
    },
  };
};
