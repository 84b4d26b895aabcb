import { SCHEMA_VERSION, WORKSPACE_ID } from "../port/baseDocument.ts";
import type { Store } from "../port/store.ts";
import { insertUnlessThere } from "./shared/insertOrReuse.ts";

export interface LeasesRepository {
  /** True when `holder` holds the lease until `now + duration`: it was free, run out, or its own. */
  readonly acquire: (name: string, holder: string, now: number, duration: number) => Promise<boolean>;
  readonly release: (name: string, holder: string) => Promise<void>;
}

/** Short leases that choose one node for a job. They save work; correctness must not rest on them. */
export const createLeasesRepository = (store: Store): LeasesRepository => {
  const leases = store.collection("leases");
  return {
    acquire: async (name, holder, now, duration) => {
      const expires = now + duration;
      const taken = await leases.updateOne({ _id: name, $or: [{ holder }, { expires: { $lt: now } }] }, { $set: { holder, expires } });
      if (taken.matchedCount === 1) return true;
      return insertUnlessThere(leases, { _id: name, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, holder, expires });
    },
    release: async (name, holder) => {
      await leases.deleteOne({ _id: name, holder });
    },
  };
};
