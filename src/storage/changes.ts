import { type ChangeDocument, SCHEMA_VERSION, WORKSPACE_ID } from "./documents.ts";
import type { Store } from "./store.ts";

const KEEP_MS = 10 * 60_000;
const PAGE = 1_000;

export interface ChangesRepository {
  readonly append: (id: string, node: string, ids: readonly string[], now: number) => Promise<void>;
  /** Entries whose id is greater than `since`, ascending. */
  readonly listAfter: (since: string) => Promise<ChangeDocument[]>;
}

/** The feed of changed ids (DESIGN §3). Entries are kept for ten minutes. */
export const createChangesRepository = (store: Store): ChangesRepository => {
  const changes = store.collection("changes");
  return {
    append: async (id, node, ids, now) => {
      await changes.insertOne({ _id: id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, node, ids, expireAt: new Date(now + KEEP_MS) });
    },
    listAfter: async (since) => {
      const all: ChangeDocument[] = [];
      let after = since;
      for (;;) {
        const page = await changes.find({ _id: { $gt: after } }, { sort: { _id: 1 }, limit: PAGE }).toArray();
        all.push(...page);
        const last = page.at(-1);
        if (last === undefined || page.length < PAGE) return all;
        after = last._id;
      }
    },
  };
};
