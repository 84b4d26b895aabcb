import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { FailedSignInsDocument } from "../../platform/storage/port/consoleDocuments.ts";
import { StoreUnavailableError } from "../../platform/storage/port/errors.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { newDocument, withEvents } from "../../platform/storage/repositories/shared/audited.ts";
import { insertUnlessThere } from "../../platform/storage/repositories/shared/insertOrReuse.ts";

/** Each failed attempt means that somebody else failed to sign in from the same address in this moment. */
const ATTEMPTS = 100;

/** What is kept of one address. */
export type FailedSignIns = Pick<FailedSignInsDocument, "failures" | "toldAt">;

/** What becomes of it, and the events of that. Undefined: nothing. */
export type DecideFailure = (
  known: FailedSignIns | null,
) => (FailedSignIns & { readonly expireAt: Date; readonly events: readonly AuditEvent[] }) | undefined;

export interface FailedSignInsRepository {
  readonly find: (address: string, options?: OperationOptions) => Promise<FailedSignIns | null>;
  /** Changes what is kept of an address; concurrent changes are serialised, on any number of nodes, so `decide` may run more than once. */
  readonly modify: (address: string, now: number, decide: DecideFailure, options?: OperationOptions) => Promise<void>;
}

/** Who failed to sign in to the console, and when (console §2.7). */
export const createFailedSignInsRepository = (store: Store): FailedSignInsRepository => {
  const failed = store.collection("failedSignIns");
  return {
    find: (address, options) => failed.findOne({ _id: address }, options),
    modify: async (address, now, decide, options) => {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const known = await failed.findOne({ _id: address }, options);
        const decided = decide(known);
        if (decided === undefined) return;
        const { events, ...fields } = decided;
        if (known === null) {
          const first = { ...newDocument(address, now, events), ...fields, revision: 1 };
          if (await insertUnlessThere(failed, first, options)) return;
        } else {
          const update = withEvents<FailedSignInsDocument>({ $set: fields, $inc: { revision: 1 } }, events);
          if ((await failed.updateOne({ _id: address, revision: known.revision }, update, options)).matchedCount === 1) return;
        }
      }
      throw new StoreUnavailableError("sign-ins from one address failed too often at the same time to be counted");
    },
  };
};
