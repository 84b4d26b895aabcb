import { randomUUID } from "node:crypto";
import type { Clock } from "../../../domain/clock.ts";
import { chunks } from "../../../util/chunks.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { CounterChange, CounterLogEntry, CounterLogMember, CounterLogStore } from "./counterLogStore.ts";
import { MOST_AHEAD, readLog } from "./readLog.ts";
import { createWindowCounts, LONGEST_WINDOW_MS, type WindowCounts } from "./windowCounts.ts";

/** How long an entry stays, in milliseconds: what it says weighs for two windows. */
const ENTRY_LIFE_MS: number = 4 * LONGEST_WINDOW_MS;
/** Whoever has not looked for so long may have missed entries that are gone: it begins anew. */
const LONGEST_BLINDNESS_MS = (3 * ENTRY_LIFE_MS) / 4;
/** A node that appends nothing for so long is gone, in milliseconds. Each appends something every `HEARTBEAT_MS`. */
const GONE_AFTER_MS = 60_000;
const HEARTBEAT_MS = 15_000;
/**
 * How long a change of another node may be taken back that nothing of it has followed: what it needs for a look and an entry, as
 * long as those take here, several times over; and milliseconds at least. Longer only denies more.
 */
const PENDING_EXCHANGES = 3;
const LEAST_PENDING_MS = 10;
const MOST_PENDING_MS = 500;
/** Entries of one log that a look asks for: few where one is expected, more where all of them came. */
const LEAST_AHEAD = 2;
/** Logs that are read at once. */
const LOGS_AT_ONCE = 4;
const JOIN_ATTEMPTS = 1_000;

interface Peer {
  readonly ordinal: number;
  readonly log: string;
  /** Number of the entry that is expected. */
  next: number;
  ahead: number;
  /** The last one: whoever appended it may still take back what it added. */
  last: readonly CounterChange[];
  /** When that was seen, monotonic ms. */
  lastAt: number;
}

/** The claims of other nodes on a counter of which it is not known whether they stand. */
export type Pending = "none" | "of later members" | "of an earlier member";

/** A node's part in the logs, from when it joined until it is retired: one of its own, and what all of them say. */
export interface Membership {
  readonly counts: WindowCounts;
  /** Appends to this node's log, and counts it. Rejects with `StoreUnavailableError`: then the membership is of no more use. */
  readonly append: (changes: readonly CounterChange[]) => Promise<void>;
  /**
   * Counts all that others had appended when it was called. False: this node must grant nothing of what it has appended, and
   * join anew.
   */
  readonly look: () => Promise<boolean>;
  readonly pendingOn: (key: string) => Pending;
  /** How long to wait for that, in milliseconds. */
  readonly pendingFor: () => number;
  /** Something has to be appended, so that others see that this node goes on. */
  readonly isSilent: () => boolean;
  /** Begins another log after one of which it is not known what it holds: what is counted stays. Rejects with `StoreUnavailableError`. */
  readonly beginLog: () => Promise<void>;
  /** Takes leave of nodes that are gone. False: as `look`. */
  readonly dropGone: () => Promise<boolean>;
  /** Removes what has no weight any more. */
  readonly removeOld: () => Promise<void>;
  readonly retire: () => Promise<void>;
}

export interface MembershipOptions {
  readonly store: CounterLogStore;
  readonly clock: Clock;
  /** What this node had counted until now, if it was one of them. */
  readonly before?: WindowCounts | undefined;
}

/**
 * Joins: from then on the others look at this node's log, and what they had appended before is counted. Rejects with
 * `StoreUnavailableError`.
 */
export const joinCounterLog = async ({ store, clock, before }: MembershipOptions): Promise<Membership> => {
  const counts = createWindowCounts();
  const peers = new Map<string, Peer>();
  const own = { ordinal: 0, log: "", joinedAt: 0 };
  /** Its number is this node's for certain. */
  let isJoined = false;
  let nextNumber = 1;
  let appendedAt = Number.NEGATIVE_INFINITY;
  let lookedAt = clock.monotonic();
  /** How long an entry and a look take, in milliseconds, on average of the last ones. */
  let exchange = 0;
  let appending = 0;
  /** Nobody has the number of the next member, but somebody has a later one: that node would never be found. */
  let misses = false;
  /** Which number this node's log had come to, and when. */
  let marks: { readonly at: number; readonly number: number }[] = [];

  const join = async (): Promise<void> => {
    isJoined = false;
    own.log = randomUUID().slice(0, 13);
    own.joinedAt = clock.now();
    nextNumber = 1;
    marks = [];
    for (let attempt = 0; ; attempt++) {
      const members = await store.members();
      const self = members.find(({ log }) => log === own.log);
      own.ordinal = self?.ordinal ?? (members.at(-1)?.ordinal ?? 0) + 1;
      // The number may be taken by this node itself, where a driver sends what it was not sure of twice.
      isJoined = self !== undefined || (await store.join({ ...own }));
      if (isJoined) return;
      if (attempt === JOIN_ATTEMPTS) throw new StoreUnavailableError("too many nodes join the logs of counters at once");
    }
  };

  const follow = ({ ordinal, log }: Pick<CounterLogMember, "ordinal" | "log">, next: number): void => {
    peers.set(log, { ordinal, log, next, ahead: LEAST_AHEAD, last: [], lastAt: clock.monotonic() });
  };

  const read = async (member: CounterLogMember): Promise<void> => {
    let entries = await readLog(store, member.log);
    const isLongThere = clock.now() - member.joinedAt > GONE_AFTER_MS;
    let isGone = member.retiredAt !== undefined;
    if (entries.size === 0 && isLongThere && !isGone) {
      // It has been silent for as long as entries stay. Should it go on, then under another name.
      await store.retire(member.ordinal, clock.now());
      entries = await readLog(store, member.log);
      isGone = true;
    }
    let next = 1;
    for (const { number, changes } of entries.values()) {
      next = Math.max(next, number + 1);
      for (const change of changes) counts.apply(change);
    }
    if (!isGone) follow(member, next);
  };

  /** Entries of a peer as far as they were found; true when there may be more. */
  const take = (peer: Peer, asked: number, found: ReadonlyMap<string, CounterLogEntry>): boolean => {
    for (let taken = 0; taken < asked; taken++) {
      const entry = found.get(`${peer.log}/${peer.next}`);
      if (entry === undefined) {
        peer.ahead = LEAST_AHEAD;
        return false;
      }
      for (const change of entry.changes) counts.apply(change);
      peer.next++;
      peer.last = entry.changes;
      peer.lastAt = clock.monotonic();
    }
    peer.ahead = Math.min(MOST_AHEAD, 8 * peer.ahead);
    return true;
  };

  const look: Membership["look"] = async () => {
    const begun = clock.monotonic();
    for (let isMore = true; isMore; ) {
      const most = Math.max(1, Math.floor(MOST_AHEAD / Math.max(1, peers.size)));
      const asked = [...peers.values()].map((peer) => ({ peer, count: Math.min(most, peer.ahead) }));
      const entries = asked.flatMap(({ peer: { log, next }, count }) =>
        Array.from({ length: count }, (_, i) => ({ log, number: next + i })),
      );
      const sight = await store.look({ members: [own.ordinal, nextOrdinal], entries });
      isMore = false;
      const self = sight.members.find(({ ordinal }) => ordinal === own.ordinal);
      if (self === undefined || self.log !== own.log || self.retiredAt !== undefined) return false;
      const newcomer = sight.members.find(({ ordinal }) => ordinal === nextOrdinal);
      if (newcomer !== undefined) {
        nextOrdinal++;
        if (newcomer.log !== own.log) follow(newcomer, 1);
        isMore = true;
      }
      const found = new Map(sight.entries.map((entry) => [`${entry.log}/${entry.number}`, entry]));
      for (const { peer, count } of asked) isMore = take(peer, count, found) || isMore;
    }
    // Entries that were appended since the last look, but long ago, may be gone again.
    const isBlind = clock.monotonic() - lookedAt > LONGEST_BLINDNESS_MS;
    lookedAt = begun;
    const took = appending + clock.monotonic() - begun;
    exchange = exchange === 0 ? took : exchange + (took - exchange) / 8;
    return !isBlind && !misses;
  };

  const pendingFor = (): number => Math.min(MOST_PENDING_MS, Math.max(LEAST_PENDING_MS, PENDING_EXCHANGES * exchange));

  await join();
  let nextOrdinal = own.ordinal + 1;
  const now = clock.now();
  const weighing = (await store.members()).filter(
    ({ ordinal, retiredAt = now }) => ordinal < own.ordinal && now - retiredAt <= ENTRY_LIFE_MS,
  );
  for (const some of chunks(weighing, LOGS_AT_ONCE)) await Promise.all(some.map(read));
  // Whoever counts on this node goes by what it was told before.
  for (const part of before?.parts() ?? []) {
    for (const [key, { told, toldSeq }] of part) {
      const count = counts.get(key);
      if (count !== undefined) Object.assign(count, { told, toldSeq });
    }
  }

  return {
    counts,
    append: async (changes) => {
      const begun = clock.monotonic();
      await store.append({ log: own.log, number: nextNumber, changes });
      nextNumber++;
      appendedAt = clock.monotonic();
      appending = appendedAt - begun;
      for (const change of changes) counts.apply(change);
    },
    look,
    pendingOn: (key) => {
      const since = clock.monotonic() - pendingFor();
      let pending: Pending = "none";
      for (const { last, lastAt, ordinal } of peers.values()) {
        if (lastAt < since || !last.some((change) => change.key === key && (change.amount ?? 0) > 0)) continue;
        if (ordinal < own.ordinal) return "of an earlier member";
        pending = "of later members";
      }
      return pending;
    },
    pendingFor,
    isSilent: () => clock.monotonic() - appendedAt >= HEARTBEAT_MS,
    beginLog: async () => {
      if (isJoined) {
        // Of this one nothing is known but what it has acknowledged: what comes yet is seen as that of others is.
        follow(own, nextNumber);
        void store.retire(own.ordinal, clock.now()).catch(() => undefined);
      }
      await join();
    },
    dropGone: async () => {
      const monotonic = clock.monotonic();
      counts.age(monotonic);
      const gone = [...peers.values()].filter(({ lastAt }) => monotonic - lastAt >= GONE_AFTER_MS);
      for (const { ordinal } of gone) await store.retire(ordinal, clock.now());
      // What they appended before that is counted; whatever they append now they must not grant.
      if (gone.length > 0 && !(await look())) return false;
      for (const { log } of gone) peers.delete(log);
      return true;
    },
    removeOld: async () => {
      const now = clock.now();
      const monotonic = clock.monotonic();
      marks.push({ at: monotonic, number: nextNumber });
      let before: number | undefined;
      while (marks[0] !== undefined && monotonic - marks[0].at > ENTRY_LIFE_MS) before = marks.shift()?.number;
      if (before !== undefined) await store.trim(own.log, before);
      const members = await store.members();
      const isThere = (wanted: number): boolean => members.some(({ ordinal }) => ordinal === wanted);
      misses = !isThere(nextOrdinal) && members.some(({ ordinal }) => ordinal > nextOrdinal);
      for (const member of members) {
        const isWeightless = member.retiredAt !== undefined && now - member.retiredAt > 2 * ENTRY_LIFE_MS;
        if (isWeightless && member.ordinal < own.ordinal) await store.remove(member);
      }
    },
    retire: () => store.retire(own.ordinal, clock.now()),
  };
};
