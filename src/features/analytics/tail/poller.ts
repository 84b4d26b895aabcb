import type { Clock } from "../../../platform/base/clock.ts";
import { chunks } from "../../../platform/util/chunks.ts";
import { AnswerTooLargeError, EngineError, isTrouble } from "../engineErrors.ts";
import type { Execution } from "../execution.ts";
import type { JsonObject } from "../json.ts";
import { createHeads, type Heads, type Place, type Range, type WriterRows } from "./heads.ts";
import type { Position } from "./tailCursor.ts";
import type { Branch, TailSql } from "./tailSql.ts";

/** How often the table is looked at while somebody waits, and the least time between two looks. */
const LOOK_EVERY_MS = 500;
const BETWEEN_LOOKS_MS = 100;
/** How often writers that have gone are forgotten. */
const FORGET_EVERY_MS = 60_000;
/** What is known of the writers is kept so long after a look: whoever asks again and again need not have it read anew. */
const KEEP_MS = 5_000;
/** Rows of one writer that one look of one reader goes through: who is far behind catches up in several. */
const MOST_ROWS = 100_000;
/** Bytes of the rows that are read at once: those of many readers, or as many of one reader as fit. */
const MOST_BYTES = 2 * 1024 ** 2;
/** Readers of one statement, and its length. */
const BRANCHES = 25;
const MOST_SQL = 1024 ** 2;
/** Writers that are remembered in a cursor though there is nothing of them here: another replica may know them. */
const MOST_ABSENT = 32;

export interface Found {
  readonly rows: readonly JsonObject[];
  readonly position: Position;
  /** Rows that were lost since the position asked for. */
  readonly dropped: number;
}

export interface Reader {
  /** Undefined: what comes from now on. */
  readonly from: Position | undefined;
  /** Of the rows, in SQL. */
  readonly conditions: readonly string[];
  readonly limit: number;
  /** 0: what there is now. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

/** Follows what is inserted into one table, for all who wait at the same time. */
export interface Poller {
  /**
   * The position of one who comes now, whenever he asks: nothing that is inserted from now on is before it, and of what was
   * inserted before no more than 5 s is behind it. Undefined when nobody has looked since: then his first look is his position.
   */
  readonly arrive: () => Position | undefined;
  /** The first rows behind the position, as soon as there are any; none when the time is up. */
  readonly follow: (reader: Reader) => Promise<Found>;
  /** All who wait get their answer at once. */
  readonly endWaiting: () => void;
}

export interface PollerOptions {
  readonly clock: Pick<Clock, "monotonic">;
  /** Unix ms, the same on all nodes. */
  readonly now: () => number;
  readonly sql: TailSql;
  readonly execute: Execution["execute"];
}

interface Waiter extends Reader {
  position: Position | undefined;
  dropped: number;
  isDue: boolean;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** What is known of the writers. */
interface View {
  readonly heads: Heads;
  /** When all of them were read, monotonic ms; undefined before the first look. */
  begunAt: number | undefined;
  /** When the last look began: monotonic ms, and Unix ms. */
  knownAt: number;
  lookedFrom: number;
}

const newView = (): View => ({ heads: createHeads(), begunAt: undefined, knownAt: Number.NEGATIVE_INFINITY, lookedFrom: 0 });

/** The statement is to blame, or what it reads: one with less in it may be answered. */
const isTooMuch = (error: unknown): boolean => error instanceof AnswerTooLargeError || (error instanceof EngineError && !isTrouble(error));

/** One look at what there is. */
interface Look {
  readonly heads: Heads;
  /** Unix ms. */
  readonly lookedFrom: number;
}

/** A reader with something to read. */
interface Task extends Branch {
  readonly waiter: Waiter;
  readonly start: Position;
}

/** The place behind the last of a branch's rows: `tailSql` says in which order they come. */
const placeBehind = (ranges: readonly Range[], rows: readonly JsonObject[]): Place => {
  const bases = new Map(ranges.map(({ writer, base }) => [writer, base]));
  let [farthest, lastWriter] = [0, ""];
  for (const row of rows) {
    const writer = String(row.writer);
    const distance = Number(row.seq) - (bases.get(writer) ?? 0);
    if (distance > farthest || (distance === farthest && writer > lastWriter)) [farthest, lastWriter] = [distance, writer];
  }
  return new Map(
    ranges.map(({ writer, base, upper }) => [writer, Math.min(upper, base + farthest - (writer <= lastWriter ? 0 : 1))] as const),
  );
};

const placeAtEnd = (ranges: readonly Range[]): Place => new Map(ranges.map(({ writer, upper }) => [writer, upper]));

/**
 * One look at a time: where each writer is, and then, in one statement for all readers, what is new to each. Nothing is read
 * while nobody waits.
 */
export const createPoller = ({ clock, now, sql, execute }: PollerOptions): Poller => {
  const waiters = new Set<Waiter>();
  let view = newView();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let next: NodeJS.Timeout | undefined;
  let looking: AbortController | undefined;
  let isWanted = false;

  const read = async <T>(statement: string): Promise<T[]> =>
    (await execute(statement, looking?.signal ?? AbortSignal.abort(), MOST_BYTES)) as T[];

  const findHeads = async (seen: View, { lookedFrom }: Look): Promise<void> => {
    const { heads, begunAt } = seen;
    const knownAt = clock.monotonic();
    const explain = async (writers: readonly string[]): Promise<void> => {
      if (writers.length > 0) heads.explain(await read<WriterRows>(sql.stretches(writers)));
    };
    if (begunAt === undefined || clock.monotonic() - begunAt > FORGET_EVERY_MS) {
      await explain(heads.begin(await read<WriterRows>(sql.heads())));
      seen.begunAt = clock.monotonic();
    }
    if (begunAt !== undefined) await explain(heads.advance(await read<WriterRows>(sql.heads(heads.place())), clock.monotonic()));
    Object.assign(seen, { knownAt, lookedFrom });
  };

  const answer = (waiter: Waiter, position: Position, rows: readonly JsonObject[]): void =>
    waiter.resolve({ rows, position, dropped: waiter.dropped });

  const moveTo = (waiter: Waiter, { readAt, place }: Position, reached: Place, { heads, lookedFrom }: Look): Position => {
    const known = heads.place();
    const absent = [...place].filter(([writer]) => !known.has(writer)).slice(-MOST_ABSENT);
    const present = known.keys().flatMap((writer): [string, number][] => {
      const seq = Math.max(reached.get(writer) ?? 0, place.get(writer) ?? 0);
      return seq > 0 ? [[writer, seq]] : [];
    });
    const moved = new Map([...present, ...absent]);
    waiter.dropped += heads.lostBetween(place, moved);
    const isAtEnd = [...known].every(([writer, seq]) => (moved.get(writer) ?? 0) >= seq);
    const getsOn = [...moved].some(([writer, seq]) => seq > (place.get(writer) ?? 0));
    waiter.position = { readAt: isAtEnd || getsOn ? lookedFrom : readAt, place: moved };
    return waiter.position;
  };

  const readRows = async (tasks: readonly Task[], look: Look): Promise<void> => {
    const wanted = tasks.filter(({ waiter }) => waiters.has(waiter));
    if (wanted.length === 0) return;
    try {
      const found = Map.groupBy(await read<JsonObject>(sql.rows(wanted)), ({ branch }) => Number(branch));
      for (const [index, { waiter, start, ranges, limit }] of wanted.entries()) {
        if (!waiters.has(waiter)) continue;
        const rows = found.get(index) ?? [];
        const reached = rows.length < limit ? placeAtEnd(ranges) : placeBehind(ranges, rows);
        const position = moveTo(waiter, start, reached, look);
        if (rows.length > 0) answer(waiter, position, rows);
      }
    } catch (error) {
      if (!isTooMuch(error)) throw error;
      const [first] = wanted;
      const half = Math.ceil(wanted.length / 2);
      if (wanted.length > 1) for (const part of [wanted.slice(0, half), wanted.slice(half)]) await readRows(part, look);
      else if (first !== undefined && first.limit > 1 && error instanceof AnswerTooLargeError) {
        await readRows([{ ...first, limit: Math.ceil(first.limit / 2) }], look);
      } else first?.waiter.reject(error);
    }
  };

  /** @returns whether somebody who still waits could read on at once. */
  const lookAt = async (seen: View): Promise<boolean> => {
    const { heads } = seen;
    const present = [...waiters];
    const look: Look = { heads, lookedFrom: now() };
    try {
      await findHeads(seen, look).catch((error: unknown) => {
        // Nobody knows whether it has all gaps.
        if (view === seen) view = newView();
        throw error;
      });
      const tasks = present.flatMap((waiter): Task[] => {
        const start = waiter.position ?? { readAt: look.lookedFrom, place: heads.place() };
        waiter.position = start;
        const ranges = heads.rangesFrom(start.place, MOST_ROWS);
        if (ranges.length > 0) return [{ waiter, start, ranges, conditions: waiter.conditions, limit: waiter.limit }];
        moveTo(waiter, start, new Map(), look);
        return [];
      });
      const weigh = ({ conditions }: Task): number =>
        Math.max(1 / BRANCHES, conditions.reduce((sum, { length }) => sum + length, 0) / MOST_SQL);
      for (const part of chunks(tasks, 1, weigh)) await readRows(part, look);
      for (const waiter of present) if (waiter.isDue && waiter.position) answer(waiter, waiter.position, []);
      return present.some((each) => waiters.has(each) && each.position && heads.rangesFrom(each.position.place, 1).length > 0);
    } catch (error) {
      for (const waiter of present) waiter.reject(error);
      return false;
    }
  };

  const run = async (): Promise<void> => {
    next = undefined;
    isWanted = false;
    looking = new AbortController();
    const goesOn = await lookAt(view);
    looking = undefined;
    lookedAt = clock.monotonic();
    if (waiters.size > 0) schedule(isWanted || goesOn ? BETWEEN_LOOKS_MS : LOOK_EVERY_MS);
    else rest();
  };
  const schedule = (ms: number): void => {
    clearTimeout(next);
    next = setTimeout(() => void run(), ms);
  };
  const wake = (): void => {
    if (looking) isWanted = true;
    else schedule(Math.max(0, lookedAt + BETWEEN_LOOKS_MS - clock.monotonic()));
  };
  const rest = (): void => {
    clearTimeout(next);
    looking?.abort();
  };
  /** What is known ages while nobody asks. */
  const forgetOld = (): void => {
    if (waiters.size === 0 && looking === undefined && clock.monotonic() - view.knownAt > KEEP_MS) view = newView();
  };

  /** What comes without a look: whoever has a position may be told that there is nothing yet. */
  const end = (waiter: Waiter): void => {
    waiter.isDue = true;
    if (waiter.position) answer(waiter, waiter.position, []);
  };

  return {
    arrive: () => {
      forgetOld();
      return view.begunAt === undefined ? undefined : { readAt: view.lookedFrom, place: view.heads.place() };
    },
    follow: async (reader) => {
      const { from, waitMs, signal } = reader;
      signal.throwIfAborted();
      forgetOld();
      const { promise, resolve, reject } = Promise.withResolvers<Found>();
      const leave = (): void => {
        if (!waiters.delete(waiter)) return;
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        if (waiters.size === 0) rest();
      };
      const waiter: Waiter = {
        ...reader,
        position: from,
        dropped: 0,
        isDue: waitMs === 0,
        resolve: (found) => {
          leave();
          resolve(found);
        },
        reject: (error) => {
          leave();
          reject(error);
        },
      };
      const onAbort = (): void => waiter.reject(signal.reason);
      const timer = waitMs === 0 ? undefined : setTimeout(end, waitMs, waiter);
      signal.addEventListener("abort", onAbort, { once: true });
      waiters.add(waiter);
      wake();
      return promise;
    },
    endWaiting: () => {
      for (const waiter of waiters) end(waiter);
    },
  };
};
