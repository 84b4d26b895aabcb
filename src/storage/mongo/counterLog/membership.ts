import { randomUUID } from "node:crypto";
import type { Clock } from "../../../domain/clock.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { CounterChange, CounterLogEntry, CounterLogMember, CounterLogStore } from "./counterLogStore.ts";
import { createWindowCounts, type WindowCounts } from "./windowCounts.ts";

/** The longest window whose counters are kept in logs, in milliseconds: a log has to be read again for two of them. */
export const LONGEST_WINDOW_MS: number = 60_000;
/** How long an entry stays, in milliseconds: what it says weighs for two windows. */
const ENTRY_LIFE_MS: number = 4 * LONGEST_WINDOW_MS;
/** Whoever has not looked for so long may have missed entries that are gone: it begins anew. */
const LONGEST_BLINDNESS_MS = ENTRY_LIFE_MS / 3;
/** A node that appends nothing for so long is gone, in milliseconds. Each appends something every `HEARTBEAT_MS`. */
const GONE_AFTER_MS = 60_000;
const HEARTBEAT_MS = 15_000;
/** How long a change of another node may be taken back that nothing of it has followed, in milliseconds. Longer only denies more. */
const PENDING_MS = 30;
/** Entries of one log that a look asks for: few where one is expected, more where all of them came. */
const LEAST_AHEAD = 3;
/** Entries have 100 kB at most, so that an answer is one message of the server's. */
const MOST_AHEAD = 100;
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
  /** Something has to be appended, so that others see that this node goes on. */
  readonly isSilent: () => boolean;
  /** Removes what nobody needs, and takes leave of nodes that are gone. */
  readonly tidy: () => Promise<void>;
  readonly retire: () => Promise<void>;
}

export interface MembershipOptions {
  readonly store: CounterLogStore;
  readonly clock: Clock;
}

/** The number behind the last of them; those in between that are missing are added. */
const completed = async (store: CounterLogStore, log: string, entries: Map<number, CounterLogEntry>): Promise<number> => {
  const numbers = [...entries.keys()];
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
  const missing: { log: string; number: number }[] = [];
  for (let number = first; number < last; number++) if (!entries.has(number)) missing.push({ log, number });
  // What is missing after this look was removed, as it had no weight any more.
  const { entries: found } = missing.length > 0 ? await store.look({ members: [], entries: missing }) : { entries: [] };
  for (const entry of found) entries.set(entry.number, entry);
  return last + 1;
};

/** All entries of a log. */
const readLog = async (store: CounterLogStore, log: string): Promise<Map<number, CounterLogEntry>> => {
  const entries = new Map<number, CounterLogEntry>();
  for (let after = 0; ; ) {
    const page = await store.page(log, after);
    for (const entry of page) entries.set(entry.number, entry);
    const last = page.at(-1);
    if (last === undefined) return entries;
    after = last.number;
  }
};

/**
 * Joins: from then on the others look at this node's log, and what they had appended before is counted. Rejects with
 * `StoreUnavailableError`.
 */
export const joinCounterLog = async ({ store, clock }: MembershipOptions): Promise<Membership> => {
  const counts = createWindowCounts();
  const peers = new Map<string, Peer>();
  const own = { ordinal: 0, log: randomUUID().slice(0, 13), joinedAt: clock.now() };
  for (let attempt = 0; ; attempt++) {
    const members = await store.members();
    const self = members.find(({ log }) => log === own.log);
    own.ordinal = self?.ordinal ?? (members.at(-1)?.ordinal ?? 0) + 1;
    // The number may be taken by this node itself, where a driver sends what it was not sure of twice.
    if (self !== undefined || (await store.join(own))) break;
    if (attempt === JOIN_ATTEMPTS) throw new StoreUnavailableError("too many nodes join the logs of counters at once");
  }
  let nextOrdinal = own.ordinal + 1;
  let nextNumber = 1;
  let appendedAt = Number.NEGATIVE_INFINITY;
  let lookedAt = clock.monotonic();
  let agedAt = clock.monotonic();
  /** Which number this node's log had come to, and when. */
  const marks: { readonly at: number; readonly number: number }[] = [];

  const follow = ({ ordinal, log }: CounterLogMember, next: number): void => {
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
    const next = entries.size === 0 ? 1 : await completed(store, member.log, entries);
    for (const { changes } of entries.values()) for (const change of changes) counts.apply(change);
    if (!isGone) follow(member, next);
  };

  /** Entries of a peer as far as they were found; true when there may be more. */
  const take = (peer: Peer, found: ReadonlyMap<string, CounterLogEntry>): boolean => {
    const until = peer.next + peer.ahead;
    while (peer.next < until) {
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
      const wanted = [...peers.values()].flatMap(({ log, next, ahead }) =>
        Array.from({ length: ahead }, (_, i) => ({ log, number: next + i })),
      );
      const sight = await store.look({ members: [own.ordinal, nextOrdinal], entries: wanted });
      isMore = false;
      const self = sight.members.find(({ ordinal }) => ordinal === own.ordinal);
      if (self === undefined || self.log !== own.log || self.retiredAt !== undefined) return false;
      const newcomer = sight.members.find(({ ordinal }) => ordinal === nextOrdinal);
      if (newcomer !== undefined) {
        nextOrdinal++;
        follow(newcomer, 1);
        isMore = true;
      }
      const found = new Map(sight.entries.map((entry) => [`${entry.log}/${entry.number}`, entry]));
      for (const peer of peers.values()) isMore = take(peer, found) || isMore;
    }
    // Entries that were appended since the last look, but long ago, may be gone again.
    const isBlind = clock.monotonic() - lookedAt > LONGEST_BLINDNESS_MS;
    lookedAt = begun;
    return !isBlind;
  };

  for (const member of await store.members()) if (member.ordinal < own.ordinal) await read(member);

  return {
    counts,
    append: async (changes) => {
      await store.append({ log: own.log, number: nextNumber, changes });
      nextNumber++;
      appendedAt = clock.monotonic();
      for (const change of changes) counts.apply(change);
    },
    look,
    pendingOn: (key) => {
      const since = clock.monotonic() - PENDING_MS;
      let pending: Pending = "none";
      for (const { last, lastAt, ordinal } of peers.values()) {
        if (lastAt < since || !last.some((change) => change.key === key && (change.amount ?? 0) > 0)) continue;
        if (ordinal < own.ordinal) return "of an earlier member";
        pending = "of later members";
      }
      return pending;
    },
    isSilent: () => clock.monotonic() - appendedAt >= HEARTBEAT_MS,
    tidy: async () => {
      const now = clock.now();
      const monotonic = clock.monotonic();
      if (monotonic - agedAt >= ENTRY_LIFE_MS) {
        counts.age();
        agedAt = monotonic;
      }
      for (const { ordinal, log, lastAt } of peers.values()) {
        if (monotonic - lastAt < GONE_AFTER_MS) continue;
        await store.retire(ordinal, now);
        // What it appended before that is counted; whatever it appends now it must not grant.
        if (!(await look())) return;
        peers.delete(log);
      }
      marks.push({ at: monotonic, number: nextNumber });
      let before: number | undefined;
      while (marks[0] !== undefined && monotonic - marks[0].at > ENTRY_LIFE_MS) before = marks.shift()?.number;
      if (before !== undefined) await store.trim(own.log, before);
      for (const member of await store.members()) {
        const isWeightless = member.retiredAt !== undefined && now - member.retiredAt > 2 * ENTRY_LIFE_MS;
        if (isWeightless && member.ordinal < own.ordinal) await store.remove(member);
      }
    },
    retire: () => store.retire(own.ordinal, clock.now()),
  };
};
