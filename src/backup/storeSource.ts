import { toText } from "../storage/embedded/sqlite/documentText.ts";
import type { Fields } from "../storage/port/applyUpdate.ts";
import { WORKSPACE_ID } from "../storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../storage/port/documents.ts";
import type { Store } from "../storage/port/store.ts";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import { backedUpForm } from "./backedUpForm.ts";
import { type BackupSource, factsOf, inBatches, type SourceBatch } from "./backupSource.ts";

const PAGE = 500;
/** Whoever puts an entry into the audit log may number it as they like. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/** Entries of the audit log behind a number. Asked for by a range, FerretDB sorts that alone; behind a gap there is none. */
const entriesBehind = async (store: Store, after: number): Promise<readonly AuditLogDocument[]> => {
  const find = (range: { readonly $gt: number; readonly $lte?: number }) =>
    store
      .collection("audit")
      .find({ workspaceId: WORKSPACE_ID, sequence: range }, { sort: { sequence: 1 }, limit: PAGE })
      .toArray();
  const next = await find({ $gt: after, $lte: after + PAGE });
  return next.length > 0 ? next : find({ $gt: after });
};

/** The audit log in its order, a page at a time. */
const pagesOfLog = async function* (store: Store): AsyncGenerator<readonly AuditLogDocument[], void> {
  for (let after = BEGINNING; ; ) {
    const page = await entriesBehind(store, after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.sequence;
  }
};

/** Documents of a collection in the order of their ids, a page at a time. */
const pagesOf = async function* (store: Store, name: BackedUpCollection): AsyncGenerator<readonly object[], void> {
  const documents = store.collection(name as "keys");
  for (let after: string | undefined; ; ) {
    const page = await documents
      .find(after === undefined ? {} : { _id: { $gt: after } }, { sort: { _id: 1 }, limit: PAGE, ofAnyVersion: true })
      .toArray();
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < PAGE) return;
    after = last._id;
  }
};

/** What of a store of either engine belongs into a backup, read through its port page by page. */
export const readStore = async function* (store: Store): AsyncGenerator<SourceBatch, void> {
  for (const collection of backedUp) {
    for await (const page of collection === "audit" ? pagesOfLog(store) : pagesOf(store, collection)) {
      const forms = page
        .map((document) => backedUpForm(collection, document as Fields, store.clock.now()))
        .filter((form) => form !== undefined);
      yield* inBatches(
        collection,
        forms.map((form) => toText(form)),
      );
    }
  }
};

/**
 * A store of either engine, read through its port, page by page: what is written meanwhile may be in it or not. Rejects as `factsOf`
 * throws. To read it rejects where entries of the audit log were dropped meanwhile: those that are left would not fit what the backup
 * says of the ones before.
 * @param where the store is, for people
 */
export const storeSource = async (store: Store, where: string): Promise<BackupSource> => {
  const system = store.collection("system");
  const facts = factsOf(store.engine, await system.findOne({ _id: "schema" }), where);
  const dropped = async (): Promise<number | undefined> => (await system.findOne({ _id: "auditStub" }))?.stub?.sequence;
  const read = async function* (): AsyncGenerator<SourceBatch, void> {
    const before = await dropped();
    yield* readStore(store);
    if ((await dropped()) !== before) throw new Error("entries of the audit log were dropped meanwhile: take the backup again");
  };
  return { facts, size: undefined, read };
};
