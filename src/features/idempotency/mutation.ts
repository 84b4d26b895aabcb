import type { RevisedObject } from "../../platform/base/revisions.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { AuditedCollection } from "../../platform/storage/port/auditedCollections.ts";

/** The document that a call changes last, together with the events that say so. */
export interface Change {
  readonly collection: AuditedCollection;
  readonly id: string;
  /** A cache tag that the change invalidates in addition to the id. */
  readonly tag?: string;
}

/** Returns the events (at least one) in a form in which other runs of the same call find them. */
export type MarkEvents = (events: readonly AuditEvent[]) => readonly AuditEvent[];

/** The change that a call makes, once everything that refuses it with 403 or 404 was checked. */
export interface Mutation<W, A extends object> {
  /** Left out if several writes make the change. */
  readonly change?: Change;
  /** The object that `If-Match` is checked against, null = there is none; left out where the header has no meaning. */
  readonly found?: RevisedObject | null | undefined;
  /** The answer if the write succeeds; left out if the write decides it. A repeat gets it whatever happened to the object since. */
  readonly expected?: A | undefined;
  /** Makes the change. The events of `change` have to be marked. */
  readonly write: (mark: MarkEvents) => Promise<W>;
  /** What `write` would resolve to if an earlier run of the call has made the change. Needed without `expected` only. */
  readonly written?: W;
  readonly answer: (written: W) => A | Promise<A>;
}
