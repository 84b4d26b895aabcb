import type { Caller } from "../../platform/authorization/authorization.ts";
import type { Degraded } from "../../platform/base/behalf.ts";
import { createId, deriveId, type IdPrefix } from "../../platform/base/ids.ts";
import { type Precondition, type RevisedObject, tagOf } from "../../platform/base/revisions.ts";
import type { IncomingCall } from "../../platform/rpc/incomingCall.ts";
import type { Visit } from "../../platform/rpc/visit.ts";
import { type DrawBytes, drawRandom } from "../../platform/secrets/secret.ts";
import type { KeyedRun } from "../idempotency/keyedCall.ts";
import type { MarkEvents, Mutation } from "../idempotency/mutation.ts";
import { drawFrom } from "../idempotency/seed.ts";
import type { Call } from "./call.ts";

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
  readonly #run: KeyedRun | undefined;
  #correlationId: string | undefined;

  constructor(
    incoming: IncomingCall,
    caller: Caller,
    remoteIp: string | undefined,
    precondition: Precondition | undefined,
    run?: KeyedRun,
  ) {
    this.requestId = incoming.requestId;
    this.caller = caller;
    this.receivedAt = run === undefined ? incoming.receivedAt : run.seed.now;
    this.remoteIp = remoteIp;
    this.precondition = precondition;
    this.#incoming = incoming;
    this.#run = run;
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
    return this.#run !== undefined;
  }

  degrade(what: Degraded): void {
    this.#incoming.degrade(what);
  }

  rest(): void {
    const { onRelease } = this.#incoming;
    this.#incoming.onRelease = undefined;
    onRelease?.();
  }

  newId(prefix: IdPrefix, label = ""): string {
    return this.#run === undefined ? createId(prefix, this.receivedAt) : deriveId(prefix, this.receivedAt, this.#run.seed.salt, label);
  }

  get drawBytes(): DrawBytes {
    return this.#run === undefined ? drawRandom : drawFrom(this.#run.seed);
  }

  perform<W, A extends object>(mutation: Mutation<W, A>): Promise<A> {
    if (this.#run !== undefined) return this.#run.perform(mutation);
    const { found, write, answer } = mutation;
    if (found !== undefined) this.precondition?.ensure(found);
    return write(unmarked).then(answer);
  }

  get ensureUnwritten(): KeyedRun["ensureUnwritten"] | undefined {
    return this.#run?.ensureUnwritten;
  }

  showRevision(object: RevisedObject): void {
    this.#incoming.setHeader("ETag", tagOf(object));
  }
}
