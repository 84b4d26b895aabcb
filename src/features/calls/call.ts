import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Caller } from "../../platform/authorization/authorization.ts";
import type { Degraded } from "../../platform/base/behalf.ts";
import type { Violation } from "../../platform/base/errors.ts";
import type { IdPrefix } from "../../platform/base/ids.ts";
import type { Precondition, RevisedObject } from "../../platform/base/revisions.ts";
import type { Visit } from "../../platform/rpc/visit.ts";
import type { DrawBytes } from "../../platform/secrets/secret.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import type { Mutation } from "../idempotency/mutation.ts";

/** What a procedure knows of the call beside its request message. */
export interface Call {
  readonly requestId: string;
  readonly caller: Caller;
  /** Wall-clock time of arrival, Unix ms; the one time that every decision of this call uses. */
  readonly receivedAt: number;
  /** The same on the monotonic clock, in ms with a fraction. */
  readonly startedAt: number;
  /** Aborted at the deadline (60 s, or earlier if the caller said so) and when the client went away. Made on first use. */
  readonly signal: AbortSignal;
  /** Shared by all audit events of this call. Made on first use. */
  readonly correlationId: string;
  readonly remoteIp: string | undefined;
  readonly userAgent: string | undefined;
  /** Of calls of the console. */
  readonly visit?: Visit | undefined;
  /** See `Behalf`; says so in the answer's `meta`. */
  readonly degrade: (what: Degraded) => void;
  /**
   * From here on the call only waits, and counts no more among those in work. To be called once that has begun: not before the
   * procedure has returned its promise.
   */
  readonly rest: () => void;
  /**
   * The call has an Idempotency-Key, so it may be one of several runs of the same call (DESIGN §4): whatever stands
   * under an id of `newId` was written by an earlier one.
   */
  readonly repeatable: boolean;
  /**
   * A new id; in all runs of a call the same for the same prefix and label. The label tells the ids of one call apart and
   * follows from the request alone.
   */
  readonly newId: (prefix: IdPrefix, label?: string) => string;
  /** Draws the bytes of new secrets; in all runs of a call the same for the same label. */
  readonly drawBytes: DrawBytes;
  /**
   * Makes the call's change, and answers. Every procedure that writes audit events calls it once; `mutations.ts` has the usual ways to
   * do so. Ends the run if another one has answered or is at work; the pipeline then gives its answer. Fails with 412
   * `data/precondition_failed` if the `precondition` does not hold for what was found.
   */
  readonly perform: <W, A extends object>(mutation: Mutation<W, A>) => Promise<A>;
  /** Ends the run if an earlier one has made its change, by the events that wait in the document and by the log. */
  readonly ensureUnwritten?: ((outbox: readonly AuditEvent[]) => Promise<void>) | undefined;
  /**
   * What the header `If-Match` asks of the object that the procedure changes (management §2), where the procedure has the
   * option `if_match`. `perform` judges it early, so that nothing is made in vain; what makes it hold is that each change
   * and deletion in the store is given the call, and judges it again together with its write. Whoever loses between the two
   * leaves the permissions and identities behind that were made for it, as with any 4xx at the write (protocol §2).
   */
  readonly precondition?: Precondition | undefined;
  /** Answers with the object's revision: the header `ETag`. To be called last, by the procedures that have the option `etag`. */
  readonly showRevision: (object: RevisedObject) => void;
}

/** An insert was refused because an earlier run of the same call has made it. */
export const isOwnWrite = (error: unknown, call: Call): boolean =>
  call.repeatable && error instanceof DuplicateKeyError && error.index === "_id";

/** Inserts an object under an id of `call.newId`, unless an earlier run of the call has inserted it. */
export const insertOnce = async (call: Call, insert: Promise<unknown>): Promise<void> => {
  try {
    await insert;
  } catch (error) {
    if (!isOwnWrite(error, call)) throw error;
  }
};

/** A response without its `meta`, which the pipeline adds. */
export type Answer<O extends DescMessage> = Omit<MessageInitShape<O>, "meta" | "$typeName" | "$unknown">;

/** One procedure: a validated request in, an answer out. Fails with `ServiceError`. */
export interface Procedure<I extends DescMessage, O extends DescMessage> {
  (request: MessageShape<I>, call: Call): Answer<O> | Promise<Answer<O>>;
  /**
   * What it refuses of a request at `now` (Unix ms) beside what the annotations tell, for a 400 that is due anyway: it names
   * everything at once. The request may be one of which a part could not be read. The procedure itself judges so, too.
   */
  readonly judge?: (request: MessageShape<I>, now: number) => readonly Violation[];
}
