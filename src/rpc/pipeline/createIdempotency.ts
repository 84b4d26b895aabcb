import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import type { Caller } from "../../domain/authorization.ts";
import type { Precondition } from "../../domain/revisions.ts";
import { hashKey } from "../../domain/secrets/keySecret.ts";
import { type Secret, secret } from "../../domain/secrets/secret.ts";
import { reservationId } from "../../idempotency/idempotencyKey.ts";
import { answerKeyedCall } from "../../idempotency/keyedCall.ts";
import type { Reservations } from "../../idempotency/reservations.ts";
import type { AnyProcedure } from "../../procedures/registry.ts";
import { toServiceError } from "../../procedures/shared/toServiceError.ts";
import { bearerToken } from "../../rootKeys/authenticator.ts";
import { jsonWriter, type WriteJson } from "../codec/json/jsonForm.ts";
import { IdempotentCall } from "./idempotentCall.ts";
import type { IncomingCall } from "./incomingCall.ts";
import { createKeptAnswers, type KeptAnswers } from "./keptAnswers.ts";
import { procedureName } from "./procedureName.ts";
import { requestFingerprint } from "./requestFingerprint.ts";

/** A call with an Idempotency-Key, as the pipeline has it. */
export interface IncomingKeyedCall {
  readonly incoming: IncomingCall;
  readonly idempotencyKey: string;
  readonly caller: Caller;
  readonly remoteIp: string | undefined;
  readonly precondition: Precondition | undefined;
  readonly message: Message;
  readonly procedure: AnyProcedure;
}

/** Answers a call with an Idempotency-Key (protocol §2); see `answerKeyedCall`. */
export type Idempotency = (call: IncomingKeyedCall) => Promise<object>;

interface Bound {
  readonly name: string;
  readonly write: WriteJson;
  readonly answers: KeptAnswers;
}

/** What the caller presented, and the scope of its Idempotency-Keys: on the console the session token stands for the root key (console §1). */
const presentedBy = (
  { visit, authorization }: IncomingCall,
  { rootKeyId }: Caller,
): { readonly scope: string; readonly credential: Secret } =>
  visit?.token === undefined
    ? { scope: rootKeyId, credential: secret(bearerToken(authorization)) }
    : { scope: hashKey(visit.token.reveal()), credential: visit.token };

/** What the edge adds to `answerKeyedCall`: how requests are told apart, procedures run, and answers kept. */
export const createIdempotency = (reservations: Reservations): Idempotency => {
  const bound = new Map<DescMethodUnary, Bound>();
  const bind = (method: DescMethodUnary): Bound => {
    let found = bound.get(method);
    if (found === undefined) {
      found = { name: procedureName(method), write: jsonWriter(method.input, "v2"), answers: createKeptAnswers(method) };
      bound.set(method, found);
    }
    return found;
  };

  return async ({ incoming, idempotencyKey, caller, remoteIp, precondition, message, procedure }) => {
    const { name, write, answers } = bind(incoming.method);
    const { path, receivedAt, signal } = incoming;
    const { scope, credential } = presentedBy(incoming, caller);
    return answerKeyedCall({
      reservations,
      id: reservationId(scope, idempotencyKey),
      fingerprint: await requestFingerprint(name, write, message, incoming),
      caller,
      credential,
      receivedAt,
      precondition,
      signal,
      createRun: (seed, runCaller, steps) => {
        const call = new IdempotentCall(incoming, runCaller, remoteIp, precondition, seed, steps);
        return {
          perform: async () => procedure(message, call),
          keep: (answer) => answers.keep(answer, call.recipes, path),
        };
      },
      recall: (kept, seed) => answers.recall(kept, seed),
      onReplay: () => incoming.setHeader("Idempotency-Replayed", "true"),
      toServiceError,
    });
  };
};
