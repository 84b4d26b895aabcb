/** One change of a counter: `amount` more (or less) in window `seq`; null: a clock was set back, and what was counted later than `seq` belongs there. */
export interface CounterChange {
  readonly key: string;
  readonly seq: number;
  readonly amount: number | null;
}

/** What one node appended at once: number `number` of its log, from 1 on, without gaps. */
export interface CounterLogEntry {
  readonly log: string;
  readonly number: number;
  readonly changes: readonly CounterChange[];
}

/** A node that appends to a log of its own. Members are numbered in the order in which they joined, without gaps. */
export interface CounterLogMember {
  readonly ordinal: number;
  readonly log: string;
  /** Unix ms. */
  readonly joinedAt: number;
  /** It may grant nothing any more, if it still runs. Unix ms. */
  readonly retiredAt?: number;
}

/** What a look asks for: members by their numbers, and entries by log and number. */
export interface CounterLogLook {
  readonly members: readonly number[];
  readonly entries: readonly Pick<CounterLogEntry, "log" | "number">[];
}

export interface CounterLogSight {
  readonly members: readonly CounterLogMember[];
  readonly entries: readonly CounterLogEntry[];
}

/**
 * Where nodes keep their logs. Every operation rejects with `StoreUnavailableError`; a write whose outcome is unknown may
 * still happen. What a write has acknowledged every look sees that begins afterwards.
 */
export interface CounterLogStore {
  /** All of them, in the order of their numbers. */
  readonly members: () => Promise<readonly CounterLogMember[]>;
  /** False: another node has that number. */
  readonly join: (member: CounterLogMember) => Promise<boolean>;
  /** Does nothing where it is retired. */
  readonly retire: (ordinal: number, at: number) => Promise<void>;
  readonly append: (entry: CounterLogEntry) => Promise<void>;
  /** In any order; what is not there is missing. */
  readonly look: (wanted: CounterLogLook) => Promise<CounterLogSight>;
  /** The entries of a log behind number `after`, in order; the first thousand of them. */
  readonly page: (log: string, after: number) => Promise<readonly CounterLogEntry[]>;
  /** Removes the entries of a log before number `before`. */
  readonly trim: (log: string, before: number) => Promise<void>;
  /** Removes a member and all entries of its log. */
  readonly remove: (member: CounterLogMember) => Promise<void>;
}
