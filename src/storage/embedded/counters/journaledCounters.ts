import type { SharedCounter } from "../../port/counters.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import { createRecentKeys } from "../../recentKeys.ts";
import { filesIn } from "../storeFiles.ts";
import { type AppendLog, openAppendLog } from "./appendLog.ts";
import { createJournal, type Journal } from "./journal.ts";
import type { JournaledCounters, JournaledCountersOptions } from "./journaledCountersOptions.ts";
import { textOfRecord } from "./logRecords.ts";
import { documentTextOf, journalEntryOf, replayEntries, type StoredCounter, toSharedCounter, weightOf } from "./storedCounter.ts";

/** Where the disk cannot keep up, changes wait when there are so many times as many as are kept. */
const FULL_AT = 2;
/** The journal is begun anew when it is so many times as long as what it has to tell. */
const JOURNAL_GROWTH = 4;
const LONGEST_JOURNAL = 64 * 1024 ** 2;
/** Counters that are dealt with at once: whoever changes one waits behind them. */
const COUNTERS_PER_STEP = 250;
/** After what could not be moved, until it is tried again. */
const RETRY_AFTER_MS = 5_000;
/** How much of the journal may go without a mark for it. */
const MARK_AFTER_MS = 200;

interface JournaledCounter extends StoredCounter {
  /** An older state of it may be in the table. */
  inTable: boolean;
  /** The last record of the journal that is about it. */
  record: number;
}

/**
 * Counters change with almost every check of an identifier that is seen rarely, so they are spared the pages and
 * indexes of a table: those that were changed lately are in memory, and each change is appended to a journal, one record
 * for all changes that wait (group commit). A change resolves when it is on disk, and with it all that it was made of.
 *
 * When the journal has become long, a checkpoint begins it anew with what is in memory and has not expired. When that is
 * too much, it goes into the table, where a counter is looked up that is not in memory.
 */
export const createJournaledCounters = ({
  directory,
  clock,
  find,
  tableIsEmpty,
  write,
  mark,
  log,
  mostCounters = 131_072,
  leastJournal = 16 * 1024 ** 2,
  openLog = openAppendLog,
}: JournaledCountersOptions): JournaledCounters => {
  const counters = new Map<string, JournaledCounter>();
  let weight = 0;
  let logs: readonly [AppendLog, AppendLog] | undefined;
  let journal: Journal | undefined;
  let isClosing = false;
  /** Clears the journal before this one, once everything in memory is in this one or in the table. */
  let clearPrevious: (() => Promise<void>) | undefined;
  let longest = leastJournal;
  let nothingInTable = false;
  let checkpointing: Promise<void> | undefined;
  /** Settles with every step of it. */
  let moved = Promise.withResolvers<void>();
  /** When what could not be moved may be tried again, monotonic ms; undefined when the last attempt succeeded. */
  let retryAt: number | undefined;
  let marking: NodeJS.Timeout | undefined;

  const markSoon = (): void => {
    marking = setTimeout(() => {
      marking = undefined;
      if (journal === undefined) return;
      mark?.(journal.lastWritten(), false);
      if (journal.lastWritten() < journal.lastRecord()) markSoon();
    }, MARK_AFTER_MS).unref();
  };

  const opened = (): Journal => {
    if (journal === undefined || isClosing) throw new StoreUnavailableError("the embedded store is not open");
    return journal;
  };

  const put = (key: string, counter: JournaledCounter): void => {
    if (!counters.has(key)) weight += weightOf(key);
    counters.set(key, counter);
  };
  const drop = (key: string): void => {
    if (counters.delete(key)) weight -= weightOf(key);
  };

  const recentKeys = createRecentKeys(counters, clock);

  const lookUp = (key: string): JournaledCounter | undefined => {
    opened();
    const known = counters.get(key);
    if (known !== undefined || nothingInTable) return known;
    const found = find(key);
    return found && { ...found, expireAt: found.expireAt.getTime(), inTable: true, record: 0 };
  };

  const append = (to: Journal, key: string, counter: JournaledCounter, undo: () => void): Promise<void> => {
    const appended = to.append(journalEntryOf(key, counter), undo);
    counter.record = to.lastRecord();
    if (marking === undefined) markSoon();
    return appended;
  };

  const create = (key: string, state: StoredCounter): Promise<void> => {
    const counter: JournaledCounter = { ...state, inTable: false, record: 0 };
    put(key, counter);
    const created = append(opened(), key, counter, () => drop(key));
    checkpointWhenDue();
    return created;
  };

  /** Makes the counter what the state says; undone when that cannot be written. */
  const change = (key: string, counter: JournaledCounter, { seq, current, previous, expireAt }: StoredCounter): Promise<void> => {
    const before: StoredCounter = { seq: counter.seq, current: counter.current, previous: counter.previous, expireAt: counter.expireAt };
    put(key, counter);
    counter.seq = seq;
    counter.current = current;
    counter.previous = previous;
    counter.expireAt = expireAt;
    const changed = append(opened(), key, counter, () => Object.assign(counter, before));
    checkpointWhenDue();
    return changed;
  };

  /**
   * Everything that is in memory now into the journal or, if so asked and no change of it is on its way to the disk, into
   * the table and out of memory. Without a journal there is no such change.
   */
  const rewrite = async (to: Journal | undefined, intoTable: boolean): Promise<void> => {
    const now = clock.now();
    let leaving: { readonly key: string; readonly counter: JournaledCounter; readonly record: number; readonly text: string | null }[] = [];
    let staying: Promise<void>[] = [];
    const leave = (key: string, counter: JournaledCounter, text: string | null): void => {
      counter.inTable = true;
      leaving.push({ key, counter, record: counter.record, text });
    };
    const settle = async (): Promise<void> => {
      const documents = leaving.map(({ key, text }) => [key, text] as const);
      if (documents.length > 0) nothingInTable = false;
      await Promise.all([...staying, ...(documents.length > 0 ? [write({ kind: "put", collection: "counters", documents })] : [])]);
      for (const { key, counter, record, text } of leaving) {
        if (text === null) counter.inTable = false;
        // One that has changed meanwhile is in the journal that is written now.
        if (counter.record === record) drop(key);
      }
      leaving = [];
      staying = [];
      moved.resolve();
      moved = Promise.withResolvers();
    };
    // Those that come meanwhile are in the journal that is written now.
    let rest = counters.size;
    for (const [key, counter] of counters) {
      if (rest-- === 0) break;
      const mayLeave = to?.isSettled(counter.record) ?? true;
      if (mayLeave && counter.expireAt <= now) {
        if (counter.inTable) leave(key, counter, null);
        else drop(key);
      } else if (mayLeave && intoTable) leave(key, counter, documentTextOf(key, counter));
      else if (to !== undefined) staying.push(append(to, key, counter, () => undefined));
      if (leaving.length + staying.length >= COUNTERS_PER_STEP) await settle();
    }
    await settle();
  };

  const checkpoint = async (): Promise<void> => {
    const to = opened();
    const intoTable = weight >= mostCounters;
    clearPrevious ??= await to.rotate();
    await rewrite(to, intoTable);
    // The last number stays in the journal, also when all that it told of is in the table.
    await to.append("null", () => undefined);
    await clearPrevious();
    clearPrevious = undefined;
    longest = Math.max(leastJournal, Math.min(LONGEST_JOURNAL, JOURNAL_GROWTH * to.size()));
    nothingInTable = tableIsEmpty();
  };

  const checkpointWhenDue = (): void => {
    if (checkpointing !== undefined || isClosing || (weight < mostCounters && opened().size() < longest)) return;
    if (retryAt !== undefined && clock.monotonic() < retryAt) return;
    checkpointing = checkpoint()
      .then(
        () => {
          retryAt = undefined;
        },
        (error: unknown) => {
          if (retryAt === undefined) log?.warn({ err: error }, "rate limit counters could not be moved out of the journal");
          retryAt = clock.monotonic() + RETRY_AFTER_MS;
        },
      )
      .finally(() => {
        checkpointing = undefined;
        moved.resolve();
        moved = Promise.withResolvers();
      });
  };

  const isFull = (): boolean => weight >= FULL_AT * mostCounters;

  /** Where so many wait to be moved that memory would run out, changes wait, too. */
  const waitForRoom = async (): Promise<void> => {
    while (isFull()) {
      checkpointWhenDue();
      if (checkpointing === undefined) throw new StoreUnavailableError("the embedded store cannot write down more rate limit counters");
      await moved.promise;
    }
  };

  const add = async (key: string, counter: JournaledCounter, amount: number): Promise<SharedCounter> => {
    const { seq, previous, expireAt } = counter;
    const current = counter.current + amount;
    await change(key, counter, { seq, current, previous, expireAt });
    return { seq, current, previous };
  };

  return {
    isShared: false,
    read: (key) => {
      const counter = lookUp(key.toWellFormed());
      return counter === undefined ? null : toSharedCounter(counter);
    },
    charge: async (key, seq, atMost, amount) => {
      if (isFull()) await waitForRoom();
      const id = key.toWellFormed();
      const counter = lookUp(id);
      if (counter === undefined || counter.seq !== seq || counter.current > atMost) return null;
      return add(id, counter, amount);
    },
    open: async (key, seq, atMost, amount, expireAt) => {
      if (isFull()) await waitForRoom();
      const id = key.toWellFormed();
      const counter = lookUp(id);
      if (counter === undefined) {
        await create(id, { seq, current: amount, previous: 0, expireAt: expireAt.getTime() });
        return { seq, current: amount, previous: 0 };
      }
      if (counter.seq !== seq || counter.previous !== 0 || counter.current > atMost) return null;
      return add(id, counter, amount);
    },
    roll: async (key, from, { seq, current, previous }, expireAt) => {
      if (isFull()) await waitForRoom();
      const id = key.toWellFormed();
      const counter = lookUp(id);
      if (counter === undefined || counter.seq !== from.seq || counter.current !== from.current) return false;
      await change(id, counter, { seq, current, previous, expireAt: expireAt.getTime() });
      return true;
    },
    refund: async (key, seq, amount) => {
      const id = key.toWellFormed();
      const counter = lookUp(id);
      if (counter === undefined) return;
      const { current, previous, expireAt } = counter;
      if (counter.seq === seq) await change(id, counter, { seq, current: current - amount, previous, expireAt });
      else if (counter.seq === seq + 1) await change(id, counter, { seq: counter.seq, current, previous: previous - amount, expireAt });
    },
    recent: async (keys) => {
      opened();
      const runs = await recentKeys(keys.toWellFormed());
      return {
        runs,
        get: (key) => {
          const counter = counters.get(key);
          return counter && toSharedCounter(counter);
        },
      };
    },
    recover: async (store) => {
      if (journal !== undefined) return;
      const [a, b] = filesIn(directory).logs;
      logs ??= [openLog(a, store), openLog(b, store)];
      const { inOrder, lastNumber } = replayEntries(logs, (key, state) => put(key, { ...state, inTable: true, record: 0 }), log);
      await rewrite(undefined, true);
      const [older, newer] = inOrder;
      // Greater than those of a journal that is lost, too.
      const number = lastNumber === 0 ? clock.now() : lastNumber + 1;
      // The older one first: by itself it would be taken for newer than the table. The last number stays in the journal.
      await older.clear();
      await older.append({ number, text: textOfRecord([], lastNumber) });
      await newer.clear();
      nothingInTable = tableIsEmpty();
      journal = createJournal(inOrder, number);
      mark?.(number, false);
    },
    ping: async () => opened().append("null", () => undefined),
    close: async () => {
      isClosing = true;
      while (checkpointing !== undefined) await checkpointing;
      await journal?.settled();
      clearTimeout(marking);
      if (journal !== undefined) mark?.(journal.lastWritten(), true);
      journal = undefined;
      counters.clear();
      weight = 0;
      await Promise.all(logs?.map((opened) => opened.close()) ?? []);
      logs = undefined;
    },
  };
};
