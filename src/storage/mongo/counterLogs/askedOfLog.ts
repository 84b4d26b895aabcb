import type { SharedCounter } from "../../port/counters.ts";
import { StoreUnavailableError } from "../../port/errors.ts";
import type { CounterChange } from "./counterLogStore.ts";
import type { Membership } from "./membership.ts";
import { applyChange, emptyCount, type WindowCount, type WindowCounts } from "./windowCounts.ts";

/** What one entry has at most: so that it stays below 100 kB, and does not hold up the others for long. */
const MOST_CLAIMS = 1_000;
const MOST_CHARACTERS = 24_000;

/**
 * How often a claim gives way to one of an earlier member before it is refused. More would admit no more, and on a counter that
 * others charge all the time take longer than the call has.
 */
const MOST_ATTEMPTS = 3;

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

/** What somebody waits for, no longer than `until` (monotonic ms). */
export interface Asked<T> {
  readonly until: number;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}
export interface AskedRead extends Asked<SharedCounter | null> {
  readonly key: string;
}
export interface AskedChange extends Asked<void> {
  readonly change: CounterChange;
}
export interface AskedClaim extends Asked<SharedCounter | null> {
  readonly claim: Claim;
  attempts: number;
  /** When it was judged first, monotonic ms. */
  judgedAt?: number;
}

const shared = ({ seq, current, previous }: WindowCount): SharedCounter => ({ seq, current, previous });

/** False: the window of the claim is over, and whatever others take back makes no room in it. */
const canFit = ({ seq }: Claim, count: WindowCount | undefined): boolean => count === undefined || count.seq <= seq;

/** What the counter would be with the claim in it. */
export const withClaim = (count: WindowCount | undefined, change: Claim): WindowCount => {
  const after = count === undefined ? emptyCount() : { ...count };
  applyChange(after, change);
  return after;
};

const isTooLate = new StoreUnavailableError("what was asked of the store before took too long", { tooSlow: true });

/** Those of them that may wait longer; the others are told. */
export const stillAsked = <T extends Asked<never>>(all: readonly T[], now: number): T[] =>
  all.filter(({ until, reject }) => {
    if (until < now) reject(isTooLate);
    return until >= now;
  });

/** What whoever asks is told of a counter, which is remembered. @param told of the window before, where that is not what it counts */
export const remember = (count: WindowCount, told: number = count.previous): SharedCounter => {
  count.told = told;
  count.toldSeq = count.seq;
  return shared(count);
};

/** The first of them that join one entry. */
export const takeChanges = (changes: AskedChange[]): AskedChange[] => {
  let [count, characters] = [0, 0];
  for (const { change } of changes) {
    count++;
    characters += change.key.length;
    if (count === MOST_CLAIMS || characters > MOST_CHARACTERS) break;
  }
  return changes.splice(0, count);
};

export interface TakenClaims {
  /** They join the entry. */
  readonly written: AskedClaim[];
  /** They do not fit, as far as is known. */
  readonly unwritten: AskedClaim[];
  /** Of counters that have one of them already, each being judged by itself, and what is too much for one entry. */
  readonly later: AskedClaim[];
}

/** What becomes of claims with the next entry. @param waiting those that are appended and not judged yet */
export const takeClaims = (
  claims: readonly AskedClaim[],
  waiting: readonly AskedClaim[],
  { get }: Pick<WindowCounts, "get">,
  now: number,
): TakenClaims => {
  const keys = new Set(waiting.map(({ claim }) => claim.key));
  const taken: TakenClaims = { written: [], unwritten: [], later: [] };
  let characters = 0;
  for (const asked of stillAsked(claims, now)) {
    const { claim } = asked;
    const { key } = claim;
    if (keys.has(key) || taken.written.length === MOST_CLAIMS || characters > MOST_CHARACTERS) {
      taken.later.push(asked);
      continue;
    }
    keys.add(key);
    characters += key.length;
    (claim.fits(withClaim(get(key), claim)) ? taken.written : taken.unwritten).push(asked);
  }
  return taken;
};

/** Counts an attempt. False: the claim is refused now. */
export const mayAskAgain = (asked: AskedClaim, count: WindowCount | undefined): boolean =>
  canFit(asked.claim, count) && ++asked.attempts < MOST_ATTEMPTS;

/** What becomes of a claim that is appended: it waits for what others may take back, or is taken back itself. */
export type Verdict = "granted" | "waits" | "gives way" | "refused";

/** @param count with the claim in it. @param now monotonic ms */
export const verdictOn = (
  asked: AskedClaim,
  count: WindowCount | undefined,
  { pendingOn, pendingFor }: Pick<Membership, "pendingOn" | "pendingFor">,
  now: number,
): Verdict => {
  const { claim } = asked;
  if (count !== undefined && claim.fits(count)) return "granted";
  asked.judgedAt ??= now;
  const pending = canFit(claim, count) ? pendingOn(claim.key) : "none";
  if (pending === "of later members") return now - asked.judgedAt < pendingFor() ? "waits" : "refused";
  return pending === "of an earlier member" && mayAskAgain(asked, count) ? "gives way" : "refused";
};
