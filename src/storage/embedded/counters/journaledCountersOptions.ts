import type { Clock } from "../../../domain/clock.ts";
import type { Counters } from "../../port/counters.ts";
import type { CounterDocument } from "../../port/documents.ts";
import type { StoreLog } from "../../port/storeLog.ts";
import type { WriteQueue } from "../sqlite/writeQueue.ts";
import type { AppendLog } from "./appendLog.ts";

/** The counters of rate limits on the embedded store. */
export interface JournaledCounters extends Counters {
  /**
   * Opens the journal and moves what an earlier process left in it into the table. Before everything else.
   * @param store the id of the store, which the journal's files name.
   */
  readonly recover: (store: string) => Promise<void>;
  /** Rejects unless the journal can be written to. */
  readonly ping: () => Promise<void>;
  /** Resolves when nothing is on its way to the disk, and forgets what is in memory. */
  readonly close: () => Promise<void>;
}

export interface JournaledCountersOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** The counter in the table. */
  readonly find: (key: string) => Pick<CounterDocument, "seq" | "current" | "previous" | "expireAt"> | undefined;
  readonly tableIsEmpty: () => boolean;
  readonly write: WriteQueue["write"];
  /**
   * Is told now and then of the last record on disk: both files end with a lower number only when they have lost something.
   * `last`: this process tells no more.
   */
  readonly mark?: ((record: number, last: boolean) => void) | undefined;
  readonly log?: StoreLog | undefined;
  /**
   * Counters that are kept in memory, some 250 bytes each, those with a long key counted several times; when there are
   * more, they go into the table. 131,072 unless told.
   */
  readonly mostCounters?: number;
  /** Characters of the journal before it is begun anew; 16 Mi unless told. */
  readonly leastJournal?: number;
  readonly openLog?: (file: string, store: string) => AppendLog;
}
