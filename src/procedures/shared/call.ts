import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Visit } from "../../console/visit.ts";
import type { Caller } from "../../domain/authorization.ts";
import type { Degraded } from "../../domain/behalf.ts";
import type { Violation } from "../../domain/errors.ts";
import type { IdPrefix } from "../../domain/ids.ts";
import type { Precondition, RevisedObject } from "../../domain/revisions.ts";
import type { KeySecret, KeySecretForm } from "../../domain/secrets/keySecret.ts";
import type { RootKeySecret } from "../../domain/secrets/rootKeySecret.ts";
import type { Change } from "../../idempotency/reservations.ts";
import type { AuditEvent } from "../../storage/port/auditEvents.ts";
import { DuplicateKeyError } from "../../storage/port/errors.ts";

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
  /** A new secret of an API key; in all runs of a call the same for the same form and label. */
  readonly newKeySecret: (form: KeySecretForm, label?: string) => KeySecret;
  /** The same for a root key. */
  readonly newRootKeySecret: (label?: string) => RootKeySecret;
  /**
   * To be called once, by every procedure that writes audit events: after its permission checks, before its first write.
   * Ends the run if another one has answered or is at work; the pipeline then gives its answer. Fails with 412
   * `data/precondition_failed` if there is a `precondition` that does not hold for what was `found`.
   *
   * @param change where the event goes that `mark` marks; left out if several writes make the change.
   * @param answer what the call will answer if the change succeeds; left out if the change decides that, too.
   * @param found the object that will be changed, null = there is none; left out where there is no precondition for it.
   * @returns true when an earlier run made the change, and its answer has to be read from the store. Never with `answer`.
   */
  readonly begin: (change?: Change, answer?: object, found?: RevisedObject | null) => Promise<boolean>;
  /** The events of the change that `begin` named, in a form in which other runs find them. At least one. */
  readonly mark: (events: readonly AuditEvent[]) => readonly AuditEvent[];
  /** Ends the run if the change that `mark` marks was made, by the look of the document as it is now and the log. */
  readonly ensureUnwritten?: (outbox: readonly AuditEvent[]) => Promise<void>;
  /**
   * What the header `If-Match` asks of the object that the procedure changes (management §2), where the procedure has the
   * option `if_match`. `begin` judges it early, so that nothing is made in vain; what makes it hold is that each change
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
