import type { Clock } from "../../../base/clock.ts";
import { chargeCounter } from "../../counters/planCharge.ts";
import { refunded, type SharedCounter } from "../../counters/sharedCounter.ts";
import { countsUntil } from "../../counters/slidingWindow.ts";
import type { Counters, KeyedCounter } from "../../port/counters.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { StoreLog } from "../../port/storeLog.ts";
import { createFileReader } from "../sqlite/fileReader.ts";
import { gatherForGroupCommit } from "../sqlite/gatherForGroupCommit.ts";
import type { ReadTurns } from "../sqlite/readTurns.ts";
import { messageOf } from "../sqlite/sqliteErrors.ts";
import { createWriteQueue } from "../sqlite/writeQueue.ts";
import type { StoredCounter } from "./counterTable.ts";

/** What a loss of power may take of the counts. */
const SYNC_WITHIN_MS = 20;

/** The counters of rate limits on the embedded store. */
export interface EmbeddedCounters extends Counters {
  /**
   * The file must be there, see `openCounterFile`.
   * @param isEmpty nothing is in it, and no other process writes to it: what is not in memory need not be looked up
   */
  readonly start: (isEmpty: boolean) => void;
  /** Removes counters that have expired, from the file and from memory. */
  readonly removeExpired: () => Promise<void>;
  /** Rejects unless the file can be written to. */
  readonly ping: () => Promise<void>;
  /** Writes what waits, then closes the file. */
  readonly close: () => Promise<void>;
}

export interface EmbeddedCountersOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly turns: ReadTurns;
  readonly log?: StoreLog | undefined;
  readonly onCommit?: () => void;
  /** Counters that are kept in memory, some 250 bytes each, those with a long key counted several times; 131,072 unless given. */
  readonly mostInMemory?: number;
}

/** The changes that share a commit. */
interface Commit {
  readonly changed: Map<string, StoredCounter>;
  readonly done: PromiseWithResolvers<void>;
}

/** How many counters one counts for by the length of its key. */
const weightOf = (key: string): number => 1 + (key.length >>> 7);

const toShared = ({ seq, current, previous }: StoredCounter): SharedCounter => ({ seq, current, previous });

/**
 * Counters in memory in front of a SQLite file. A change is made in memory and resolves once it is committed to the file, in one commit
 * with everything that changed while the commit before it was written. Counters whose changes are committed may leave memory.
 */
export const createEmbeddedCounters = ({
  file,
  clock,
  turns,
  log,
  onCommit,
  mostInMemory = 131_072,
}: EmbeddedCountersOptions): EmbeddedCounters => {
  const reader = createFileReader(file);
  const queue = createWriteQueue({ file, patience: 2_000, syncWithin: SYNC_WITHIN_MS }, { clock, log, ...(onCommit && { onCommit }) });
  /** In the order in which they came there. */
  const memory = new Map<string, StoredCounter>();
  let weight = 0;
  let isOpen = false;
  /** Everything in the file is in memory, so what is not there need not be looked up. */
  let isWhole = false;
  let waiting: Commit | undefined;
  let running: Commit | undefined;

  const forget = (key: string): void => {
    if (memory.delete(key)) weight -= weightOf(key);
  };
  const isCommitted = (key: string): boolean => waiting?.changed.has(key) !== true && running?.changed.has(key) !== true;

  const remember = (key: string, counter: StoredCounter): void => {
    if (!memory.has(key)) weight += weightOf(key);
    memory.set(key, counter);
    if (weight <= mostInMemory) return;
    isWhole = false;
    for (const known of memory.keys()) {
      if (isCommitted(known)) forget(known);
      if (weight <= mostInMemory) return;
    }
  };

  const unavailable = (cause: unknown): StoreUnavailableError =>
    new StoreUnavailableError(`rate limit counters cannot be written: ${messageOf(cause)}`, { cause, outcomeUnknown: true });

  /** What came later was made of what failed. The file has what was committed before. */
  const fail = (cause: unknown): void => {
    for (const commit of [running, waiting]) {
      for (const key of commit?.changed.keys() ?? []) forget(key);
      commit?.done.reject(unavailable(cause));
    }
    waiting = undefined;
    isWhole = false;
  };

  const commit = async (): Promise<void> => {
    running = waiting;
    waiting = undefined;
    if (running === undefined) return;
    try {
      await queue.write({ kind: "putCounters", entries: [...running.changed] });
      running.done.resolve();
    } catch (error) {
      fail(error);
    }
    running = undefined;
    if (waiting !== undefined) schedule();
  };
  const schedule = (): void => gatherForGroupCommit(() => waiting?.changed.size ?? 0, commit);

  const change = (key: string, counter: StoredCounter): Promise<void> => {
    if (waiting === undefined) {
      waiting = { changed: new Map(), done: Promise.withResolvers() };
      if (running === undefined) schedule();
    }
    // First: it must not leave memory again at once.
    waiting.changed.set(key, counter);
    remember(key, counter);
    return waiting.done.promise;
  };

  const requireOpen = (): void => {
    if (!isOpen) throw new StoreUnavailableError("the embedded store is not open");
  };

  const reading = <T>(read: () => T): T => {
    requireOpen();
    try {
      return read();
    } catch (error) {
      throw new StoreUnavailableError(`rate limit counters cannot be read: ${messageOf(error)}`, { cause: error });
    }
  };

  const find = (key: string): StoredCounter | undefined => {
    requireOpen();
    const known = memory.get(key);
    if (known !== undefined || isWhole) return known;
    const row = reading(() => reader.row("SELECT seq, current, previous, expireAt FROM counters WHERE key=?", [key]));
    return row as unknown as StoredCounter | undefined;
  };

  return {
    isShared: false,
    read: (key) => {
      const counter = find(key.toWellFormed());
      return counter === undefined ? null : toShared(counter);
    },
    charge: async (key, request) => {
      const id = key.toWellFormed();
      const counter = find(id);
      const { next, answer } = chargeCounter(counter === undefined ? null : toShared(counter), request);
      if (next !== undefined) await change(id, { ...next, expireAt: countsUntil(next.seq, request.duration).getTime() });
      return answer;
    },
    refund: async (key, seq, amount) => {
      const id = key.toWellFormed();
      const counter = find(id);
      if (counter?.seq !== seq && counter?.seq !== seq + 1) return;
      await change(id, { ...refunded(counter, seq, amount), expireAt: counter.expireAt });
    },
    list: ({ $gte, $gt, $lt }, limit) =>
      turns.run("slice", (spend) => {
        const bounds = `${$gte === undefined ? "key>?" : "key>=?"}${$lt === undefined ? "" : " AND key<?"}`;
        const values = [$gte ?? $gt ?? "", ...($lt === undefined ? [] : [$lt]), limit];
        const rows: KeyedCounter[] = [];
        reading(() =>
          reader.rows(`SELECT key, seq, current, previous FROM counters WHERE ${bounds} ORDER BY key LIMIT ?`, values, (row) => {
            const { key, seq, current, previous } = row as unknown as KeyedCounter;
            rows.push({ key, seq, current, previous });
            return "on";
          }),
        );
        spend(rows.length, 0);
        return rows;
      }),
    start: (isEmpty) => {
      reader.open();
      isOpen = true;
      isWhole = isEmpty;
    },
    removeExpired: async () => {
      const now = clock.now();
      for (const [key, { expireAt }] of memory) if (expireAt <= now && isCommitted(key)) forget(key);
      let after: string | undefined = "";
      while (after !== undefined && isOpen) after = (await queue.write({ kind: "removeCounters", after, now })).text;
    },
    ping: async () => {
      requireOpen();
      await queue.write({ kind: "touch" });
    },
    close: async () => {
      isOpen = false;
      for (let last = waiting ?? running; last !== undefined; last = waiting ?? running) await last.done.promise.catch(() => undefined);
      reader.close();
      await queue.close();
    },
  };
};
