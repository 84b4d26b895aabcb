import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Caller, type Permission, requirePermissions } from "../../platform/authorization/authorization.ts";
import { requireStillContained } from "../../platform/authorization/containment.ts";
import type { Behalf } from "../../platform/base/behalf.ts";
import type { ServiceError } from "../../platform/base/errors.ts";
import type { HandOut } from "../../platform/base/handOut.ts";
import type { Precondition } from "../../platform/base/revisions.ts";
import type { Secret } from "../../platform/secrets/secret.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { keyInUse } from "./idempotencyKey.ts";
import type { Change, Mutation } from "./mutation.ts";
import { type FailedRun, kindOfFailure, recoveryOf } from "./recovery.ts";
import { nextStep } from "./reservationState.ts";
import type { Hold, Reservation, Reservations } from "./reservations.ts";
import { markedId, type Seed } from "./seed.ts";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** A document of MongoDB holds 16 MiB. A longer answer is worked out again by a repeat. */
const MAX_ANSWER_LENGTH = 4 * 1024 * 1024;

/** One run of a call with an Idempotency-Key: what differs from calls without one. See `Call`. */
export interface KeyedRun {
  /** Ids, time and secrets follow from it. */
  readonly seed: Seed;
  /** Notes what a replay has to ask for again. */
  readonly caller: Caller;
  readonly perform: <W, A extends object>(mutation: Mutation<W, A>) => Promise<A>;
  readonly ensureUnwritten: (outbox: readonly AuditEvent[]) => Promise<void>;
}

/** Answers as they are kept for repeats; those that hold a secret are encrypted. */
export interface KeptAnswers {
  readonly keep: (answer: object, seed: Seed) => Promise<string>;
  readonly recall: (kept: string, seed: Seed) => Promise<object>;
}

/** A call with an Idempotency-Key: what its edge knows of it, and can do for it. */
export interface KeyedCall {
  readonly reservations: Reservations;
  /** See `reservationId`. */
  readonly id: string;
  /** Tells the call from others: the same procedure with the same request has the same. */
  readonly fingerprint: string;
  readonly caller: Caller;
  /** The root key or session token, as the caller presented it: secrets that the call makes are derived from it. */
  readonly credential: Secret;
  /** Unix ms. */
  readonly receivedAt: number;
  /** Judged by the run that makes the change, not by a replay. */
  readonly precondition: Precondition | undefined;
  readonly signal: AbortSignal;
  /** Runs the procedure. */
  readonly run: (run: KeyedRun) => Promise<object>;
  readonly answers: KeptAnswers;
  /** The answer is one that was given before. */
  readonly onReplay: () => void;
  readonly toServiceError: (thrown: unknown) => ServiceError;
}

/** What a run knows of its reservation. */
interface Run {
  readonly call: KeyedCall;
  readonly seed: Seed;
  /** It took the work over from a run that was abandoned. */
  readonly resumed: boolean;
  /** The expired or abandoned reservation in whose place it makes its own. */
  readonly former: Reservation | null;
  hold?: Hold | undefined;
  change?: Change | undefined;
  /** The answer if it was known before the change. */
  expected?: object | undefined;
  /** The same as it is kept. */
  answer?: string | undefined;
  readonly permissions: Permission[];
  handedOut?: HandOut;
}

/** Another run has the answer, or the next one will: the reservation tells. */
const lookAgain: unique symbol = Symbol("look again");
type Outcome = object | typeof lookAgain;

/** Ends a run whose answer comes from another one, or from the next. */
class Superseded extends Error {}

/** Without the call's signal: a reservation is kept right to the end. */
const behalfOf = ({ caller }: KeyedCall): Behalf => ({ caller });

const freshSeed = ({ receivedAt, credential }: KeyedCall): Seed => ({ now: receivedAt, salt: randomBytes(32), credential });

const seedOf = ({ now, salt }: Reservation, { credential }: KeyedCall): Seed => ({ now, salt: Buffer.from(salt, "base64"), credential });

const isWritten = async ({ call, change, seed }: Run): Promise<boolean> =>
  change !== undefined && call.reservations.wasWritten(change, markedId(seed), behalfOf(call));

const replay = (call: KeyedCall, { permissions, handedOut }: Reservation, kept: string, seed: Seed): Promise<object> => {
  requirePermissions(call.caller, ...permissions.map(({ action, id }) => [action, id] as const));
  if (handedOut) requireStillContained(call.caller, handedOut);
  call.onReplay();
  return call.answers.recall(kept, seed);
};

/** Whether another run of the same call works, or has answered. */
const isAnothersWork = async (call: KeyedCall): Promise<boolean> => {
  const { reservation, state } = await call.reservations.look(call.id, behalfOf(call));
  return reservation?.request === call.fingerprint && state !== "expired";
};

const changeOf = async (run: Run): Promise<FailedRun["change"]> => {
  if (run.hold === undefined) return "notBegun";
  try {
    return (await isWritten(run)) ? "written" : "notWritten";
  } catch {
    return "unknown";
  }
};

/** What becomes of a run that failed. Fails with what was thrown unless another run has, or will have, the answer. */
const recover = async (run: Run, thrown: unknown): Promise<Outcome> => {
  const { call, hold, answer } = run;
  if (thrown instanceof Superseded) {
    await hold?.release();
    return lookAgain;
  }
  const error = kindOfFailure(call.toServiceError(thrown));
  const change = await changeOf(run);
  const recovery = recoveryOf({ error, change, answerKnown: answer !== undefined, resumed: run.resumed });
  if (recovery === "compare" && (await isAnothersWork(call))) return lookAgain;
  if (recovery === "complete" && hold !== undefined && answer !== undefined) {
    return (await hold.complete(answer)) ? call.answers.recall(answer, run.seed) : lookAgain;
  }
  if (recovery === "free" && hold !== undefined) {
    if (await hold.free()) throw thrown;
    return lookAgain;
  }
  await hold?.release().catch(() => undefined);
  if (recovery === "lookAgain") return lookAgain;
  throw thrown;
};

/** Reserves the key: from here on the run holds the reservation. */
const reserve = async (run: Run): Promise<void> => {
  const { call, seed, permissions, handedOut, change, answer } = run;
  const reservation = {
    _id: call.id,
    request: call.fingerprint,
    salt: Buffer.from(seed.salt).toString("base64"),
    now: seed.now,
    permissions,
    ...(change && { changeIn: change }),
    ...(answer !== undefined && { answer }),
    ...(handedOut && { handedOut }),
  };
  run.hold = await call.reservations.reserve(reservation, run.former, behalfOf(call));
  if (run.hold === undefined) throw new Superseded();
};

/** Makes the change, unless an earlier run has made it. */
const perform = async <W, A extends object>(run: Run, { change, found, expected, write, written, answer }: Mutation<W, A>): Promise<A> => {
  const { call, seed, resumed } = run;
  run.change = change;
  run.expected = expected;
  run.answer = expected && (await call.answers.keep(expected, seed));
  if (resumed && expected === undefined && (await isWritten(run))) return answer(written as W);
  if (found !== undefined) call.precondition?.ensure(found);
  if (!resumed) await reserve(run);
  // Other runs find the change by the id of its first event.
  return answer(await write((events) => events.map((event, i) => (i === 0 ? { ...event, id: markedId(seed) } : event))));
};

const ensureUnwritten = async ({ call, seed }: Run, outbox: readonly AuditEvent[]): Promise<void> => {
  const eventId = markedId(seed);
  if (outbox.some(({ id }) => id === eventId) || (await call.reservations.isLogged(eventId, behalfOf(call)))) throw new Superseded();
};

const recordingCaller = (run: Run): Caller => {
  const { caller } = run.call;
  return {
    ...caller,
    onPermitted: (action, id) => {
      run.permissions.push({ action, id });
      caller.onPermitted?.(action, id);
    },
    onHandedOut: (more) => {
      run.handedOut = { ...run.handedOut, ...more };
    },
  };
};

/** Runs the procedure, and keeps its answer if it made a reservation. */
const work = async (run: Run): Promise<Outcome> => {
  const { call, seed } = run;
  let answer: object;
  let kept: string;
  try {
    answer = await call.run({
      seed,
      caller: recordingCaller(run),
      perform: (mutation) => perform(run, mutation),
      ensureUnwritten: (outbox) => ensureUnwritten(run, outbox),
    });
    kept = answer === run.expected && run.answer !== undefined ? run.answer : await call.answers.keep(answer, seed);
  } catch (error) {
    return recover(run, error);
  }
  const { hold } = run;
  if (hold === undefined) return answer;
  if (kept.length <= MAX_ANSWER_LENGTH) return (await hold.complete(kept)) ? answer : lookAgain;
  await hold.release();
  return answer;
};

/** Finishes what an abandoned run began. */
const resume = async (call: KeyedCall, reservation: Reservation): Promise<Outcome> => {
  const hold = await call.reservations.takeOver(reservation, behalfOf(call));
  if (hold === undefined) return lookAgain;
  const { changeIn: change, answer } = reservation;
  const seed = seedOf(reservation, call);
  const run: Run = { call, seed, resumed: true, former: null, hold, change, answer, permissions: [] };
  try {
    if (answer !== undefined && (await isWritten(run))) {
      return (await hold.complete(answer)) ? replay(call, reservation, answer, seed) : lookAgain;
    }
  } catch (error) {
    await hold.release().catch(() => undefined);
    throw error;
  }
  return work(run);
};

/** Runs the procedure as far as `perform`: a caller who may not make the call is told that first. */
const refuse = (call: KeyedCall): Promise<object> => {
  const { caller } = call;
  const perform = (): Promise<never> => Promise.reject(keyInUse());
  return call.run({ seed: freshSeed(call), caller, perform, ensureUnwritten: () => Promise.resolve() });
};

const takeStep = async (call: KeyedCall): Promise<Outcome> => {
  const { reservation, state } = await call.reservations.look(call.id, behalfOf(call));
  const step = nextStep(state, reservation?.request === call.fingerprint);
  if (reservation === null || step === "run") {
    return work({ call, seed: freshSeed(call), resumed: false, former: reservation, permissions: [] });
  }
  if (step === "refuse") return refuse(call);
  if (step === "replay") return replay(call, reservation, reservation.answer ?? "{}", seedOf(reservation, call));
  if (step === "resume") return resume(call, reservation);
  return lookAgain;
};

/**
 * Answers a call with an Idempotency-Key (protocol §2): by running it, by finishing what died, or as it was answered before.
 * A reservation, made before the first write of a call, fixes its ids, its time and a salt for its secrets. Every run of the
 * call therefore writes the same and finds what earlier ones wrote; its answer is stored before it is given. So a repeat
 * may take over at any point. What happens next is said by `nextStep`, and after a failure by `recoveryOf`.
 */
export const answerKeyedCall = async (call: KeyedCall): Promise<object> => {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    call.signal.throwIfAborted();
    const outcome = await takeStep(call);
    if (outcome !== lookAgain) return outcome;
    // An abort is told by what is thrown above.
    await sleep(pause, undefined, { signal: call.signal }).catch(() => undefined);
  }
};
