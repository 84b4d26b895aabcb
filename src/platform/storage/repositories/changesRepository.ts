import { chunks } from "../../util/chunks.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../port/baseDocument.ts";
import type { AnnouncementDocument } from "../port/documents.ts";
import type { Store } from "../port/store.ts";

/** Nobody reads what is older than some 35 s; nodes' polls may be slow. */
const KEEP_MS = 2 * 60_000;
const PAGE = 1_000;
/** Entries that are read at once: one may hold thousands of ids. */
const READ_AT_ONCE = 100;

export interface ChangesRepository {
  readonly append: (id: string, node: string, ids: readonly string[], now: number) => Promise<void>;
  /** Entries whose id is greater than `since` and not known, ascending. Of those that are known only the ids are read. */
  readonly listAfter: (since: string, isKnown?: (id: string) => boolean) => Promise<AnnouncementDocument[]>;
}

/** The feed of changed ids (DESIGN §3). Entries are kept for two minutes. */
export const createChangesRepository = (store: Store): ChangesRepository => {
  const changes = store.collection("changes");

  const idsAfter = async (since: string): Promise<string[]> => {
    const all: string[] = [];
    for (let after = since; ; ) {
      const page = await changes.findFields([], { _id: { $gt: after } }, { sort: { _id: 1 }, limit: PAGE });
      for (const { _id } of page) all.push(_id);
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) return all;
      after = last._id;
    }
  };

  return {
    append: async (id, node, ids, now) => {
      await changes.insertOne({ _id: id, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, node, ids, expireAt: new Date(now + KEEP_MS) });
    },
    listAfter: async (since, isKnown = () => false) => {
      const unknown = (await idsAfter(since)).filter((id) => !isKnown(id));
      const all: AnnouncementDocument[] = [];
      for (const some of chunks(unknown, READ_AT_ONCE)) {
        all.push(...(await changes.find({ _id: { $in: some } }, { sort: { _id: 1 } }).toArray()));
      }
      return all;
    },
  };
};
