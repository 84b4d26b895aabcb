import { revisionDiffers, tagOf } from "../../platform/base/revisions.ts";
import type { Update } from "../../platform/storage/port/collection.ts";
import type { Modify, ModifyOptions, Revised } from "../../platform/storage/repositories/shared/modify.ts";
import type { Call } from "./call.ts";

/** An object of which copies are made. */
type Copied = Revised & { readonly copyId?: string };

/** The copy that a call is about to make. */
export interface Copy {
  readonly id: string;
  /** Whether it exists: an earlier run of the call made it. */
  readonly exists: () => Promise<boolean>;
}

/**
 * For a call that makes a copy of an object before it changes the object: under a precondition this counts a revision of it
 * first, if it still is as it was found, so that of concurrent calls with the same `If-Match` one makes a copy and the others get
 * 412 `data/precondition_failed`. `*` asks for no revision, so nothing is written for it.
 *
 * The object keeps the copy's id, by which a later run of the call knows that an earlier one came so far.
 *
 * @returns false when there is no such object any more.
 */
export const claimRevision = async <D extends Copied>(modify: Modify<D>, found: D, copy: Copy, call: Call): Promise<boolean> => {
  const { precondition } = call;
  if (precondition === undefined) return true;
  if (call.repeatable && (found.copyId === copy.id || (await copy.exists()))) return true;
  precondition.ensure(found);
  if (precondition.any) return true;
  // The compiler cannot see that the fields of Copied are fields of every D.
  const update = { $set: { copyId: copy.id } } as unknown as Update<D>;
  const claim = (current: D) => {
    // Another run of this call claimed it since: its revision is the call's own.
    if (current.copyId === copy.id) return undefined;
    precondition.ensure(current);
    if (tagOf(current) !== tagOf(found)) throw revisionDiffers(current);
    return { update, events: [] };
  };
  // Not the call's precondition, which would be judged before.
  const { signal, caller } = call;
  const options: ModifyOptions = { signal, caller, ensureUnwritten: call.ensureUnwritten };
  return (await modify(found._id, claim, options)) !== null;
};
