import type { Visit } from "../../console/visit.ts";
import type { Caller } from "../../domain/authorization.ts";
import type { Degraded } from "../../domain/behalf.ts";
import { createId, type IdPrefix } from "../../domain/ids.ts";
import { type Precondition, type RevisedObject, tagOf } from "../../domain/revisions.ts";
import { createKeySecret, type KeySecret, type KeySecretForm } from "../../domain/secrets/keySecret.ts";
import { createRootKeySecret, type RootKeySecret } from "../../domain/secrets/rootKeySecret.ts";
import type { Change } from "../../idempotency/reservations.ts";
import type { Call } from "../../procedures/shared/call.ts";
import type { IncomingCall } from "./incomingCall.ts";

type AuditEvents = Parameters<Call["mark"]>[0];

const unwritten = Promise.resolve(false);

/** A call as its procedure sees it. One is made per call, on the way of every verification, hence a class: its members are shared. */
export class PipelineCall implements Call {
  readonly requestId: string;
  readonly caller: Caller;
  readonly receivedAt: number;
  readonly remoteIp: string | undefined;
  readonly precondition: Precondition | undefined;
  readonly #incoming: IncomingCall;
  #correlationId: string | undefined;

  constructor(
    incoming: IncomingCall,
    caller: Caller,
    remoteIp: string | undefined,
    precondition: Precondition | undefined,
    receivedAt: number = incoming.receivedAt,
  ) {
    this.requestId = incoming.requestId;
    this.caller = caller;
    this.receivedAt = receivedAt;
    this.remoteIp = remoteIp;
    this.precondition = precondition;
    this.#incoming = incoming;
  }

  get signal(): AbortSignal {
    return this.#incoming.signal;
  }

  get startedAt(): number {
    return this.#incoming.startedAt;
  }

  get userAgent(): string | undefined {
    return this.#incoming.userAgent;
  }

  get visit(): Visit | undefined {
    return this.#incoming.visit;
  }

  get correlationId(): string {
    this.#correlationId ??= this.newId("cor");
    return this.#correlationId;
  }

  get repeatable(): boolean {
    return false;
  }

  degrade(what: Degraded): void {
    this.#incoming.degrade(what);
  }

  rest(): void {
    const { onRelease } = this.#incoming;
    this.#incoming.onRelease = undefined;
    onRelease?.();
  }

  newId(prefix: IdPrefix, _label?: string): string {
    return createId(prefix, this.receivedAt);
  }

  newKeySecret(form: KeySecretForm, _label?: string): KeySecret {
    return createKeySecret(form);
  }

  newRootKeySecret(_label?: string): RootKeySecret {
    return createRootKeySecret();
  }

  begin(_change?: Change, _answer?: object, found?: RevisedObject | null): Promise<boolean> {
    if (found !== undefined) this.precondition?.ensure(found);
    return unwritten;
  }

  mark(events: AuditEvents): AuditEvents {
    return events;
  }

  showRevision(object: RevisedObject): void {
    this.#incoming.setHeader("ETag", tagOf(object));
  }
}
