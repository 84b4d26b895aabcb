import type { Caller } from "../../domain/authorization.ts";
import { deriveId, type IdPrefix } from "../../domain/ids.ts";
import type { Precondition } from "../../domain/revisions.ts";
import type { DrawBytes } from "../../domain/secrets/secret.ts";
import type { RunSteps } from "../../idempotency/keyedCall.ts";
import type { Mutation } from "../../idempotency/mutation.ts";
import { drawFrom, type Seed } from "../../idempotency/seed.ts";
import type { AuditEvent } from "../../storage/port/auditEvents.ts";
import type { IncomingCall } from "./incomingCall.ts";
import { PipelineCall } from "./pipelineCall.ts";

/** A run of a call that has an Idempotency-Key: what is random in others follows from the seed here. */
export class IdempotentCall extends PipelineCall {
  readonly #seed: Seed;
  readonly #steps: RunSteps;

  constructor(
    incoming: IncomingCall,
    caller: Caller,
    remoteIp: string | undefined,
    precondition: Precondition | undefined,
    seed: Seed,
    steps: RunSteps,
  ) {
    super(incoming, caller, remoteIp, precondition, seed.now);
    this.#seed = seed;
    this.#steps = steps;
  }

  override get repeatable(): boolean {
    return true;
  }

  override newId(prefix: IdPrefix, label = ""): string {
    return deriveId(prefix, this.#seed.now, this.#seed.salt, label);
  }

  override get drawBytes(): DrawBytes {
    return drawFrom(this.#seed);
  }

  override perform<W, A extends object>(mutation: Mutation<W, A>): Promise<A> {
    return this.#steps.perform(mutation);
  }

  ensureUnwritten(outbox: readonly AuditEvent[]): Promise<void> {
    return this.#steps.ensureUnwritten(outbox);
  }
}
