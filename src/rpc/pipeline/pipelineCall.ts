import type { Visit } from "../../console/visit.ts";
import type { Caller } from "../../domain/authorization.ts";
import type { Degraded } from "../../domain/behalf.ts";
import { createId, type IdPrefix } from "../../domain/ids.ts";
import { type Precondition, type RevisedObject, tagOf } from "../../domain/revisions.ts";
import { type DrawBytes, drawRandom } from "../../domain/secrets/secret.ts";
import type { MarkEvents, Mutation } from "../../idempotency/mutation.ts";
import type { Call } from "../../procedures/shared/call.ts";
import type { IncomingCall } from "./incomingCall.ts";

/** No other run looks for them. */
const unmarked: MarkEvents = (events) => events;

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

  get drawBytes(): DrawBytes {
    return drawRandom;
  }

  async perform<W, A extends object>({ found, write, answer }: Mutation<W, A>): Promise<A> {
    if (found !== undefined) this.precondition?.ensure(found);
    return answer(await write(unmarked));
  }

  showRevision(object: RevisedObject): void {
    this.#incoming.setHeader("ETag", tagOf(object));
  }
}
