import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../../domain/clock.ts";
import type { SharedCounter } from "../../port/counters.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { CounterChange, CounterLogStore } from "./counterLogStore.ts";
import { joinCounterLog, type Membership } from "./membership.ts";
import { applyChange, emptyCount, type WindowCount } from "./windowCounts.ts";

/** What one entry has at most: so that it stays below 100 kB, and does not hold up the others for long. */
const MOST_CLAIMS = 1_000;
const MOST_CHARACTERS = 24_000;
/** While nothing but what other nodes may take back is waited for, milliseconds. */
const PAUSE_MS = 3;
/**
 * How often a claim gives way to one of an earlier member before it is refused. More would admit no more, and on a counter that
 * others charge all the time take longer than the call has.
 */
const MOST_ATTEMPTS = 3;
const TIDY_EVERY_MS = 10_000;
/** How often what waits for too long is looked for, and whether this node was silent for too long. */
const WATCH_EVERY_MS = 500;

/** Budget that is wanted of a counter in window `seq`. */
export interface Claim {
  readonly key: string;
  readonly seq: number;
  readonly amount: number;
  /** Whether it may stand, where the counter is this with the amount in it. */
  readonly fits: (counter: WindowCount) => boolean;
  /** What whoever asks takes the window before `seq` to count, where that is not what it does. */
  readonly told?: number;
}

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

interface Asked<T> {
  readonly until: number;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}
interface AskedRead extends Asked<SharedCounter | null> {
  readonly key: string;
}
interface AskedChange extends Asked<void> {
  readonly change: CounterChange;
}
interface AskedClaim extends Asked<SharedCounter | null> {
  readonly claim: Claim;
  attempts: number;
  /** When it was judged first, monotonic ms. */
  judgedAt?: number;
}

/** Nothing goes on for it alone. */
const unattended = (milliseconds: number): Promise<unknown> => sleep(milliseconds, undefined, { ref: false });

const shared = ({ seq, current, previous }: WindowCount): SharedCounter => ({ seq, current, previous });

/** False: the window of the claim is over, and whatever others take back makes no room in it. */
const canFit = ({ seq }: Claim, count: WindowCount | undefined): boolean => count === undefined || count.seq <= seq;

/** What the counter would be with the claim in it. */
const withClaim = (count: WindowCount | undefined, change: Claim): WindowCount => {
  const after = count === undefined ? emptyCount() : { ...count };
  applyChange(after, change);
  return after;
};

const isTooLate = new StoreUnavailableError("what was asked of the store before took too long", { tooSlow: true });

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
  let watching: Promise<void> | undefined;

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

  /** Those of them that may wait longer; the others are told. */
  const stillAsked = <T extends Asked<never>>(all: readonly T[], now: number): T[] =>
    all.filter(({ until, reject }) => {
      if (until < now) reject(isTooLate);
      return until >= now;
    });

  const remember = (count: WindowCount, told = count.previous): SharedCounter => {
    count.told = told;
    count.toldSeq = count.seq;
    return shared(count);
  };

  /** Changes that join the next entry. */
  const takeChanges = (): AskedChange[] => {
    let [count, characters] = [0, 0];
    for (const { change } of changes) {
      count++;
      characters += change.key.length;
      if (count === MOST_CLAIMS || characters > MOST_CHARACTERS) break;
    }
    return changes.splice(0, count);
  };

  /** Claims that join the next entry, one on each counter: each is judged by itself. And those that do not fit as far as is known. */
  const takeClaims = ({ counts }: Membership): { readonly written: AskedClaim[]; readonly unwritten: AskedClaim[] } => {
    const now = clock.monotonic();
    const keys = new Set(waiting.map(({ claim }) => claim.key));
    const written: AskedClaim[] = [];
    const unwritten: AskedClaim[] = [];
    const later: AskedClaim[] = [];
    let characters = 0;
    for (const asked of claims) {
      const { claim, until, reject } = asked;
      if (until < now) reject(isTooLate);
      else if (keys.has(claim.key) || written.length === MOST_CLAIMS || characters > MOST_CHARACTERS) later.push(asked);
      else {
        keys.add(claim.key);
        characters += claim.key.length;
        const fits = claim.fits(withClaim(counts.get(claim.key), claim));
        (fits ? written : unwritten).push(asked);
      }
    }
    claims = later;
    return { written, unwritten };
  };

  /** Judges what is appended. */
  const judge = ({ counts, pendingOn, pendingFor }: Membership, appended: readonly AskedClaim[]): void => {
    for (const asked of appended) {
      const { claim, resolve } = asked;
      const count = counts.get(claim.key);
      if (count !== undefined && claim.fits(count)) {
        if (asked.judgedAt !== undefined) owesEntry = true;
        resolve(remember(count, claim.told));
        continue;
      }
      const now = clock.monotonic();
      asked.judgedAt ??= now;
      let pending = canFit(claim, count) ? pendingOn(claim.key) : "none";
      if (pending === "of later members") {
        if (now - asked.judgedAt < pendingFor()) {
          waiting.push(asked);
          continue;
        }
        pending = "none";
      }
      if (++asked.attempts === MOST_ATTEMPTS) pending = "none";
      takeBack(asked);
      if (pending === "none") resolve(null);
      else deferredClaims.push(asked);
    }
  };

  /** Judges what was not appended, since it did not fit beside what was known. */
  const judgeUnwritten = ({ counts, pendingOn }: Membership, unwritten: readonly AskedClaim[]): void => {
    for (const asked of unwritten) {
      const { claim, resolve } = asked;
      const count = counts.get(claim.key);
      const maySoon = canFit(claim, count) && ++asked.attempts < MOST_ATTEMPTS;
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

  /** This node's log is of no more use; what it has not granted is taken back by the next one. */
  const leave = (member: Membership, appended: readonly AskedClaim[]): void => {
    membership = undefined;
    before = member.counts;
    for (const asked of [...appended, ...waiting]) {
      takeBack(asked);
      claims.push(asked);
    }
    waiting = [];
    void member.retire().catch(() => undefined);
  };

  /** One exchange with the store: everything that waits is appended by one write, and judged by one read. */
  const turn = async (): Promise<void> => {
    const member = await joined();
    claims = [...claims, ...deferredClaims];
    const askedReads = reads;
    reads = [];
    deferredClaims = [];
    const { written, unwritten } = takeClaims(member);
    const askedChanges = takeChanges();
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
    const appended = [...waiting, ...written];
    waiting = [];
    let hasSeenAll: boolean;
    try {
      hasSeenAll = await member.look();
    } catch (error) {
      for (const asked of appended) {
        takeBack(asked);
        asked.reject(error);
      }
      for (const { reject } of [...askedReads, ...unwritten]) reject(error);
      throw error;
    }
    if (!hasSeenAll) {
      reads.push(...askedReads);
      claims.push(...unwritten);
      leave(member, appended);
      return;
    }
    judge(member, appended);
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
    watching ??= watchOn();
  };

  const until = (): number => clock.monotonic() + patience;
  const ask = <T>(join: (asked: Asked<T>) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new StoreUnavailableError("the store is closed"));
      join({ until: until(), resolve, reject });
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
