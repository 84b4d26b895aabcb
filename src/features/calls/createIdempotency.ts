import type { DescMethodUnary, Message } from "@bufbuild/protobuf";
import type { Caller } from "../../platform/authorization/authorization.ts";
import type { Precondition } from "../../platform/base/revisions.ts";
import { jsonWriter } from "../../platform/codec/json/jsonForm.ts";
import type { IncomingCall } from "../../platform/rpc/incomingCall.ts";
import { procedureName } from "../../platform/rpc/procedureName.ts";
import { toServiceError } from "../../platform/rpc/toServiceError.ts";
import { hashKey } from "../../platform/secrets/keySecret.ts";
import { type Secret, secret } from "../../platform/secrets/secret.ts";
import { oncePer } from "../../platform/util/oncePer.ts";
import { reservationId } from "../idempotency/idempotencyKey.ts";
import { answerKeyedCall } from "../idempotency/keyedCall.ts";
import type { Reservations } from "../idempotency/reservations.ts";
import { bearerToken } from "../rootKeys/authenticator.ts";
import { createKeptAnswers } from "./keptAnswers.ts";
import { PipelineCall } from "./pipelineCall.ts";
import type { AnyProcedure } from "./procedureTable.ts";
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
  const bind = oncePer((method: DescMethodUnary) => ({
    name: procedureName(method),
    write: jsonWriter(method.input, "v2"),
    answersFor: createKeptAnswers(method),
  }));

  return async ({ incoming, idempotencyKey, caller, remoteIp, precondition, message, procedure }) => {
    const { name, write, answersFor } = bind(incoming.method);
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
      run: async (run) => procedure(message, new PipelineCall(incoming, run.caller, remoteIp, precondition, run)),
      answers: answersFor(path),
      onReplay: () => incoming.setHeader("Idempotency-Replayed", "true"),
      toServiceError,
    });
  };
};
