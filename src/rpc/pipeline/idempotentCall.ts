import type { Caller } from "../../domain/authorization.ts";
import { deriveId, type IdPrefix } from "../../domain/ids.ts";
import type { Precondition, RevisedObject } from "../../domain/revisions.ts";
import { deriveKeySecret, type KeySecret, type KeySecretForm } from "../../domain/secrets/keySecret.ts";
import { deriveRootKeySecret, type RootKeySecret } from "../../domain/secrets/rootKeySecret.ts";
import type { Secret } from "../../domain/secrets/secret.ts";
import type { Change } from "../../idempotency/reservations.ts";
import type { Call } from "../../procedures/shared/call.ts";
import type { IncomingCall } from "./incomingCall.ts";
import { PipelineCall } from "./pipelineCall.ts";

type AuditEvents = Parameters<Call["mark"]>[0];

/** Everything that is the same in all runs of a call, and so has to come out of its reservation. */
export interface Seed {
  /** Arrival of the first run, Unix ms. */
  readonly now: number;
  /** 32 random bytes. */
  readonly salt: Uint8Array;
  /** The root key or session token, as the caller presented it; never stored. */
  readonly presented: Secret;
}

/** How a secret is made again from the seed; this much of it is stored. */
export interface Recipe {
  readonly label: string;
  /** Of the secret of an API key; absent for one of a root key. */
  readonly form?: KeySecretForm;
}

/** The secret of a recipe. */
export const followRecipe = ({ label, form }: Recipe, { presented, salt }: Seed): Secret =>
  (form === undefined ? deriveRootKeySecret(presented, salt, label) : deriveKeySecret(form, presented, salt, label)).key;

/** Id of the event that `mark` marks. */
export const markedId = ({ now, salt }: Seed): string => deriveId("log", now, salt, "change");

/** What the steps of a run do about its reservation. */
export interface RunSteps {
  readonly begin: (change: Change | undefined, answer: object | undefined, found: RevisedObject | null | undefined) => Promise<boolean>;
  readonly ensureUnwritten: (outbox: AuditEvents) => Promise<void>;
}

/** A run of a call that has an Idempotency-Key: what is random in others follows from the seed here. */
export class IdempotentCall extends PipelineCall {
  /** Every secret that this run made, by its text. */
  readonly recipes: Map<string, Recipe> = new Map();
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

  override newKeySecret(form: KeySecretForm, label = ""): KeySecret {
    const secret = deriveKeySecret(form, this.#seed.presented, this.#seed.salt, label);
    this.recipes.set(secret.key.reveal(), { label, form });
    return secret;
  }

  override newRootKeySecret(label = ""): RootKeySecret {
    const secret = deriveRootKeySecret(this.#seed.presented, this.#seed.salt, label);
    this.recipes.set(secret.key.reveal(), { label });
    return secret;
  }

  override begin(change?: Change, answer?: object, found?: RevisedObject | null): Promise<boolean> {
    return this.#steps.begin(change, answer, found);
  }

  override mark(events: AuditEvents): AuditEvents {
    return events.map((event, i) => (i === 0 ? { ...event, id: markedId(this.#seed) } : event));
  }

  ensureUnwritten(outbox: AuditEvents): Promise<void> {
    return this.#steps.ensureUnwritten(outbox);
  }
}
