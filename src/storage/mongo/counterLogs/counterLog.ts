import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../../domain/clock.ts";
import type { SharedCounter } from "../../port/counters.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import {
  type Asked,
  type AskedChange,
  type AskedClaim,
  type AskedRead,
  type Claim,
  mayAskAgain,
  remember,
  stillAsked,
  takeChanges,
  takeClaims,
  verdictOn,
  withClaim,
} from "./askedOfLog.ts";
import type { CounterChange, CounterLogStore } from "./counterLogStore.ts";
import { joinCounterLog, type Membership } from "./membership.ts";
import type { WindowCount } from "./windowCounts.ts";

/** While nothing but what other nodes may take back is waited for, milliseconds. */
const PAUSE_MS = 3;
const TIDY_EVERY_MS = 10_000;
/** How often what waits for too long is looked for, and whether this node was silent for too long. */
const WATCH_EVERY_MS = 500;

/** The counters of nodes that each append to a log of their own. All of it rejects with `StoreUnavailableError`. */
export interface CounterLog {
  /** Joins the others, which takes longer than anything else. What is asked of it joins by itself. */
  readonly open: () => Promise<void>;
  /** What all nodes had counted when it was called. */
  readonly read: (key: string) => Promise<SharedCounter | null>;
  /** The counter with the claim in it; null: it does not fit, and nothing was counted. */
  readonly claim: (claim: Claim) => Promise<SharedCounter | null>;
  /** Counts a change that needs no room. */
  readonly change: (change: CounterChange) => Promise<void>;
  /** As of the last exchange with the store. */
  readonly known: (key: string) => WindowCount | undefined;
  readonly parts: Membership["counts"]["parts"];
  /** Takes leave of the others. */
  readonly close: () => Promise<void>;
}

export interface CounterLogOptions {
  readonly store: CounterLogStore;
  readonly clock: Clock;
  /** The longest that something waits to be sent, in milliseconds. */
  readonly patience: number;
  /** Lets time pass; by timers unless told. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/** Nothing goes on for it alone. */
const unattended = (milliseconds: number): Promise<unknown> => sleep(milliseconds, undefined, { ref: false });

/**
 * Counts in logs, one of each node, in place of a document for each counter: the fewer documents are written, the more calls
 * come at once.
 *
 * A node appends what it claims to its own log, and only then looks at what the others have appended. It grants the claim if
 * that fits beside all that it sees, and else takes it back. Of the claims that were granted on a counter, the one that was
 * appended last was looked for room after all others had been appended, and so saw them: together they fit. No clock, lease or
 * lock is needed for that, and a node that dies takes nothing with it but what it had claimed.
 *
 * Two that claim the last room at once see each other, and would both give way. So the one that joined later gives way, and
 * asks again; the other one waits for that.
 */
export const createCounterLog = ({ store, clock, patience, pause = unattended }: CounterLogOptions): CounterLog => {
  let membership: Membership | undefined;
  let joining: Promise<Membership> | undefined;
  /** Of the membership that was before. */
  let before: Membership["counts"] | undefined;
  /** It is not known what the log of the membership holds. */
  let isLogLost = false;
  let reads: AskedRead[] = [];
  let claims: AskedClaim[] = [];
  let changes: AskedChange[] = [];
  /** Appended, but an earlier one of somebody else's has to be taken back first, or not. */
  let waiting: AskedClaim[] = [];
  /** Of claims that are appended and must not stand. */
  let takenBack: CounterChange[] = [];
  /** Others may wait for what became of this node's claims. */
  let owesEntry = false;
  /** What gives way to claims of others until it is known whether those stand. */
  let deferredClaims: AskedClaim[] = [];
  let running: Promise<void> | undefined;
  let isClosed = false;
  let tidiedAt = clock.monotonic();
  let isWatching = false;

  const takeBack = ({ claim: { key, seq, amount } }: AskedClaim): void => {
    takenBack.push({ key, seq, amount: -amount });
    owesEntry = true;
  };

  const rejectAll = (error: unknown): void => {
    for (const asked of waiting) takeBack(asked);
    for (const { reject } of [...reads, ...claims, ...deferredClaims, ...changes, ...waiting]) reject(error);
    reads = [];
    claims = [];
    deferredClaims = [];
    changes = [];
    waiting = [];
  };

  /** Judges what is appended. */
  const judge = (member: Membership, appended: readonly AskedClaim[]): void => {
    for (const asked of appended) {
      const { claim, resolve } = asked;
      const count = member.counts.get(claim.key);
      const isFirst = asked.judgedAt === undefined;
      const verdict = verdictOn(asked, count, member, clock.monotonic());
      if (verdict === "waits") waiting.push(asked);
      else if (verdict !== "granted") takeBack(asked);
      else if (!isFirst) owesEntry = true;
      if (verdict === "granted" && count !== undefined) resolve(remember(count, claim.told));
      else if (verdict === "refused") resolve(null);
      else if (verdict === "gives way") deferredClaims.push(asked);
    }
  };

  /** Judges what was not appended, since it did not fit beside what was known. */
  const judgeUnwritten = ({ counts, pendingOn }: Membership, unwritten: readonly AskedClaim[]): void => {
    for (const asked of unwritten) {
      const { claim, resolve } = asked;
      const count = counts.get(claim.key);
      const maySoon = mayAskAgain(asked, count);
      if (maySoon && claim.fits(withClaim(count, claim))) claims.push(asked);
      else if (maySoon && pendingOn(claim.key) !== "none") deferredClaims.push(asked);
      else resolve(null);
    }
  };

  const answerReads = ({ counts }: Membership, asked: readonly AskedRead[]): void => {
    for (const { key, resolve } of asked) {
      const count = counts.get(key);
      resolve(count === undefined ? null : remember(count));
    }
  };

  const join = async (): Promise<Membership> => {
    if (isClosed) throw new StoreUnavailableError("the store is closed");
    try {
      if (membership === undefined) membership = await joinCounterLog({ store, clock, before });
      else await membership.beginLog();
      isLogLost = false;
      before = undefined;
      return membership;
    } finally {
      joining = undefined;
    }
  };
  const joined = async (): Promise<Membership> => {
    if (membership !== undefined && !isLogLost) return membership;
    joining ??= join();
    return joining;
  };

  /**
   * This node's log is of no more use. Of what it appended last others may never have heard, if they had taken leave of it before:
   * taken back, that would make room where none is. What was waiting they have seen.
   */
  const leave = (member: Membership, appendedLast: readonly AskedClaim[]): void => {
    membership = undefined;
    before = member.counts;
    for (const asked of waiting) takeBack(asked);
    claims.push(...waiting, ...appendedLast);
    waiting = [];
    void member.retire().catch(() => undefined);
  };

  /** One exchange with the store: everything that waits is appended by one write, and judged by one read. */
  const turn = async (): Promise<void> => {
    const member = await joined();
    const askedReads = reads;
    reads = [];
    const { written, unwritten, later } = takeClaims([...claims, ...deferredClaims], waiting, member.counts, clock.monotonic());
    claims = later;
    deferredClaims = [];
    const askedChanges = takeChanges(changes);
    const claimed = written.map(({ claim: { key, seq, amount } }) => ({ key, seq, amount }));
    const entry = [...takenBack, ...askedChanges.map(({ change }) => change), ...claimed];
    const isOwing = owesEntry;
    takenBack = [];
    owesEntry = false;
    if (entry.length > 0 || isOwing || member.isSilent()) {
      try {
        await member.append(entry);
      } catch (error) {
        isLogLost = true;
        // It may yet arrive: then all of it is counted, and nothing of it granted.
        for (const { reject } of [...written, ...askedChanges]) reject(error);
        reads.push(...askedReads);
        claims.push(...unwritten);
        throw error;
      }
      for (const { resolve } of askedChanges) resolve();
    }
    let hasSeenAll: boolean;
    try {
      hasSeenAll = await member.look();
    } catch (error) {
      for (const asked of written) {
        takeBack(asked);
        asked.reject(error);
      }
      for (const { reject } of [...askedReads, ...unwritten]) reject(error);
      throw error;
    }
    if (!hasSeenAll) {
      reads.push(...askedReads);
      claims.push(...unwritten);
      leave(member, written);
      return;
    }
    judge(member, [...waiting.splice(0), ...written]);
    judgeUnwritten(member, unwritten);
    answerReads(member, askedReads);
    if (clock.monotonic() - tidiedAt < TIDY_EVERY_MS) return;
    tidiedAt = clock.monotonic();
    if (!(await member.dropGone().catch(() => true))) leave(member, []);
    // Nobody waits for what nobody needs any more; what cannot be removed now is removed the next time.
    void member.removeOld().catch(() => undefined);
  };

  const run = async (): Promise<void> => {
    // What comes in the same turn of the event loop goes along.
    await nextTurn();
    const queued = (): number => reads.length + claims.length + changes.length;
    while (queued() + deferredClaims.length + waiting.length + takenBack.length > 0 || owesEntry) {
      try {
        await turn();
      } catch (error) {
        rejectAll(error);
        // What is to be taken back waits for the next time that somebody asks.
        return;
      }
      if (queued() === 0 && deferredClaims.length + waiting.length > 0) await pause(PAUSE_MS);
    }
  };

  const begin = (): void => {
    running ??= run().finally(() => {
      running = undefined;
      if (reads.length + claims.length + changes.length > 0) begin();
    });
  };

  const watch = (): void => {
    const now = clock.monotonic();
    // While the store is slow to join, or to answer what was sent.
    reads = stillAsked(reads, now);
    claims = stillAsked(claims, now);
    changes = stillAsked(changes, now);
    if (membership === undefined || (!membership.isSilent() && takenBack.length === 0)) return;
    owesEntry = true;
    begin();
  };

  const watchOn = async (): Promise<void> => {
    while (!isClosed) {
      await pause(WATCH_EVERY_MS);
      watch();
    }
  };
  const start = (): void => {
    if (isWatching) return;
    isWatching = true;
    void watchOn();
  };

  const ask = <T>(join: (asked: Asked<T>) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new StoreUnavailableError("the store is closed"));
      join({ until: clock.monotonic() + patience, resolve, reject });
      start();
      begin();
    });

  return {
    open: async () => {
      start();
      await joined();
    },
    read: (key) => ask((asked) => reads.push({ ...asked, key })),
    claim: (claim) => ask((asked) => claims.push({ ...asked, claim, attempts: 0 })),
    change: (change) => ask((asked) => changes.push({ ...asked, change })),
    known: (key) => membership?.counts.get(key),
    parts: () => membership?.counts.parts() ?? [],
    close: async () => {
      isClosed = true;
      await running;
      await membership?.retire().catch(() => undefined);
      membership = undefined;
    },
  };
};
