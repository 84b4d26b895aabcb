import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import { type Caller, type Permission, requirePermissions } from "../../domain/authorization.ts";
import type { Behalf } from "../../domain/behalf.ts";
import { requireStillContained } from "../../domain/containment.ts";
import { appearances, invalidInput, type ServiceError } from "../../domain/errors.ts";
import type { HandOut } from "../../domain/handOut.ts";
import type { Precondition } from "../../domain/revisions.ts";
import { hashKey } from "../../domain/secrets/keySecret.ts";
import { type Secret, secret } from "../../domain/secrets/secret.ts";
import type { Change, Hold, Reservation, Reservations } from "../../idempotency/reservations.ts";
import type { AnyProcedure } from "../../procedures/registry.ts";
import { toServiceError } from "../../procedures/shared/toServiceError.ts";
import { bearerToken } from "../../rootKeys/authenticator.ts";
import { jsonWriter, type WriteJson } from "../codec/json/jsonForm.ts";
import { location, requestHash, reservationId } from "./idempotencyKey.ts";
import { IdempotentCall, markedId, type Seed } from "./idempotentCall.ts";
import type { IncomingCall } from "./incomingCall.ts";
import { createKeptAnswers, type KeptAnswers } from "./keptAnswers.ts";
import { procedureName } from "./procedureName.ts";
import type { Slices } from "./slices.ts";

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** A document of MongoDB holds 16 MiB. A longer answer is worked out again by a repeat. */
const MAX_ANSWER_LENGTH = 4 * 1024 * 1024;

/** Ends a run whose answer comes from another one, or from the next. */
class RunAgain extends Error {}

/** A call with an Idempotency-Key. */
export interface KeyedCall {
  readonly incoming: IncomingCall;
  readonly idempotencyKey: string;
  readonly caller: Caller;
  readonly remoteIp: string | undefined;
  /** Judged by the run that makes the change, not by a replay. */
  readonly precondition: Precondition | undefined;
  readonly message: Message;
  readonly procedure: AnyProcedure;
}

/** Answers a call with an Idempotency-Key: by running it, by finishing what died, or as it was answered before. */
export type Idempotency = (call: KeyedCall) => Promise<object>;

interface Bound {
  readonly name: string;
  readonly write: WriteJson;
  readonly answers: KeptAnswers;
}

/** What a run knows of its reservation. */
interface Run {
  readonly seed: Seed;
  hold: Hold | undefined;
  change: Change | undefined;
  /** The answer as it is kept, if the call knew it before its change. */
  answer: string | undefined;
}

const keyInUse = (): ServiceError =>
  invalidInput("The Idempotency-Key was used for another request.", [
    { location, message: "already used with another procedure or body", fix: "Use a new key for every request." },
  ]);

/** Nothing was written, and nothing will be. */
const changedNothing = ({ reason }: ServiceError): boolean =>
  appearances[reason].status < 500 && reason !== "request_timeout" && reason !== "client_closed_request";

const pairsOf = (permissions: readonly Permission[]) => permissions.map(({ action, id }) => [action, id] as const);

/** What the caller presented, and the scope of its Idempotency-Keys; on the console the session token stands for the root key (console §1). */
const presentedBy = (
  { visit, authorization }: IncomingCall,
  { rootKeyId }: Caller,
): { readonly scope: string; readonly presented: Secret } =>
  visit?.token === undefined
    ? { scope: rootKeyId, presented: secret(bearerToken(authorization)) }
    : { scope: hashKey(visit.token.reveal()), presented: visit.token };

/**
 * Protocol §2, Idempotency-Key. A reservation, made before the first write of a call, fixes its ids, its time and a salt
 * for its secrets. Every run of the call therefore writes the same and finds what earlier ones wrote; its answer is
 * stored before it is given. So a repeat may take over at any point.
 */
export const createIdempotency = (reservations: Reservations, slices: Slices): Idempotency => {
  const bound = new Map<DescMethodUnary, Bound>();
  const bind = (method: DescMethodUnary): Bound => {
    let found = bound.get(method);
    if (found === undefined) {
      found = { name: procedureName(method), write: jsonWriter(method.input, "v2", slices), answers: createKeptAnswers(method, slices) };
      bound.set(method, found);
    }
    return found;
  };

  return async ({ incoming, idempotencyKey, caller, remoteIp, precondition, message, procedure }) => {
    const { name, write, answers } = bind(incoming.method);
    const { path } = incoming;
    const { scope, presented } = presentedBy(incoming, caller);
    const id = reservationId(scope, idempotencyKey);
    const request = await requestHash(name, write, message, slices, incoming);
    const seedOf = ({ now, salt }: Reservation): Seed => ({ now, salt: Buffer.from(salt, "base64"), presented });

    // Without the call's signal: a reservation is kept right to the end.
    const behalf: Behalf = { caller };
    const isWritten = async ({ seed, change }: Run): Promise<boolean> =>
      change !== undefined && reservations.wasWritten(change, markedId(seed), behalf);

    const replay = ({ permissions, handedOut }: Reservation, kept: string, seed: Seed): Promise<object> => {
      requirePermissions(caller, ...pairsOf(permissions));
      if (handedOut) requireStillContained(caller, handedOut);
      incoming.setHeader("Idempotency-Replayed", "true");
      return answers.recall(kept, seed, path);
    };

    /** What becomes of a run that failed; undefined when another run has, or will have, the answer. */
    const recover = async (run: Run, resumed: boolean, thrown: unknown): Promise<object | undefined> => {
      const { hold } = run;
      if (thrown instanceof RunAgain) {
        await hold?.release();
        return undefined;
      }
      const error = toServiceError(thrown);
      if (hold === undefined) {
        if (!changedNothing(error) || error.reason === "insufficient_permissions") throw thrown;
        // Perhaps it was refused because of what another run of the same call has changed meanwhile.
        const found = await reservations.find(id, behalf);
        if (found?.request !== request || reservations.stateOf(found) === "free") throw thrown;
        return undefined;
      }
      // Not knowing is treated like having written: a repeat will find out.
      const written = await isWritten(run).catch(() => undefined);
      if (written === true && run.answer !== undefined) {
        return (await hold.complete(run.answer)) ? answers.recall(run.answer, run.seed, path) : undefined;
      }
      if (written === false && changedNothing(error)) {
        if (await hold.free()) throw thrown;
        return undefined;
      }
      await hold.release().catch(() => undefined);
      if (written === true && !resumed) return undefined;
      throw thrown;
    };

    /** One run of the procedure. */
    const work = async (run: Run, former: Reservation | null): Promise<object | undefined> => {
      const resumed = run.hold !== undefined;
      const permissions: Permission[] = [];
      let handedOut: HandOut | undefined;
      const recording: Caller = {
        ...caller,
        onPermitted: (action, id) => {
          permissions.push({ action, id });
          caller.onPermitted?.(action, id);
        },
        onHandedOut: (more) => {
          handedOut = { ...handedOut, ...more };
        },
      };
      const call = new IdempotentCall(incoming, recording, remoteIp, precondition, run.seed, {
        begin: async (change, answer, found) => {
          run.change = change;
          run.answer = answer && (await answers.keep(answer, call.recipes, path));
          if (resumed && run.answer === undefined && (await isWritten(run))) return true;
          if (found !== undefined) precondition?.ensure(found);
          if (resumed) return false;
          const { seed } = run;
          const salt = Buffer.from(seed.salt).toString("base64");
          const wanted = {
            ...{ _id: id, request, salt, now: seed.now, permissions, changeIn: change, answer: run.answer },
            ...(handedOut === undefined ? {} : { handedOut }),
          };
          run.hold = await reservations.reserve(wanted, former, behalf);
          if (run.hold === undefined) throw new RunAgain();
          return false;
        },
        ensureUnwritten: async (outbox) => {
          const eventId = markedId(run.seed);
          if (outbox.some((event) => event.id === eventId) || (await reservations.isLogged(eventId, behalf))) throw new RunAgain();
        },
      });
      let answer: object;
      let kept: string;
      try {
        answer = await procedure(message, call);
        kept = await answers.keep(answer, call.recipes, path);
      } catch (error) {
        return recover(run, resumed, error);
      }
      if (run.hold === undefined) return answer;
      if (kept.length <= MAX_ANSWER_LENGTH) return (await run.hold.complete(kept)) ? answer : undefined;
      await run.hold.release();
      return answer;
    };

    const resume = async (found: Reservation): Promise<object | undefined> => {
      const hold = await reservations.takeOver(found, behalf);
      if (hold === undefined) return undefined;
      const run: Run = { seed: seedOf(found), hold, change: found.changeIn, answer: found.answer };
      try {
        if (found.answer !== undefined && (await isWritten(run))) {
          return (await hold.complete(found.answer)) ? replay(found, found.answer, run.seed) : undefined;
        }
      } catch (error) {
        await hold.release().catch(() => undefined);
        throw error;
      }
      return work(run, null);
    };

    /** The procedure as far as `begin`: whoever may not make the call hears that first. */
    const refuse = (): Promise<object> | object =>
      procedure(
        message,
        new IdempotentCall(incoming, caller, remoteIp, precondition, freshSeed(), {
          begin: () => Promise.reject(keyInUse()),
          ensureUnwritten: () => Promise.resolve(),
        }),
      );
    const freshSeed = (): Seed => ({ now: incoming.receivedAt, salt: randomBytes(32), presented });

    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      incoming.signal.throwIfAborted();
      const found = await reservations.find(id, behalf);
      const state = reservations.stateOf(found);
      const other = found?.request !== request;
      let answer: object | undefined;
      if (found === null || state === "free" || (state === "abandoned" && other)) {
        answer = await work({ seed: freshSeed(), hold: undefined, change: undefined, answer: undefined }, found);
      } else if (other) answer = await refuse();
      else if (state === "done") answer = await replay(found, found.answer ?? "{}", seedOf(found));
      else if (state === "abandoned") answer = await resume(found);
      if (answer !== undefined) return answer;
      // An abort is told by what is thrown above.
      await sleep(pause, undefined, { signal: incoming.signal }).catch(() => undefined);
    }
  };
};
