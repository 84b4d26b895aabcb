import { toText } from "../../platform/storage/embedded/sqlite/documentText.ts";
import type { Fields } from "../../platform/storage/port/applyUpdate.ts";
import { WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import { backedUpForm } from "./backedUpForm.ts";
import { type BackupSource, factsOf, inBatches, type SourceBatch } from "./backupSource.ts";
import { once, type Patiently } from "./patiently.ts";

const PAGE = 500;
/** Whoever puts an entry into the audit log may number it as they like. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/**
 * Entries of the audit log behind a number. FerretDB sorts all that a range has, and so is asked for a page by a range of its length; where
 * there is a gap, none of that is there.
 * @param start behind which the log usually begins: before it there are few entries
 */
const entriesBehind = async (store: Store, after: number, start: number): Promise<readonly AuditLogDocument[]> => {
  const find = (range: { readonly $gt: number; readonly $lte?: number }) =>
    store
      .collection("audit")
      .find({ workspaceId: WORKSPACE_ID, sequence: range }, { sort: { sequence: 1 }, limit: PAGE })
      .toArray();
  if (after < start) {
    const early = await find({ $gt: after, $lte: start });
    if (early.length > 0) return early;
  }
  const from = Math.max(after, start);
  const next = await find({ $gt: from, $lte: from + PAGE });
  return next.length > 0 ? next : find({ $gt: from });
};

/** The number of the last entry of the audit log that was dropped, if any was. */
const lastDropped = async (store: Store): Promise<number | undefined> =>
  (await store.collection("system").findOne({ _id: "auditStub" }))?.stub?.sequence;

/** The audit log in its order, a page at a time. */
const pagesOfLog = async function* (store: Store, patiently: Patiently): AsyncGenerator<readonly AuditLogDocument[], void> {
  const start = (await patiently(() => lastDropped(store))) ?? 0;
  for (let after = BEGINNING; ; ) {
    const page = await patiently(() => entriesBehind(store, after, start));
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.sequence;
  }
};

/** Documents of a collection in the order of their ids, a page at a time. */
const pagesOf = async function* (store: Store, name: BackedUpCollection, patiently: Patiently): AsyncGenerator<readonly object[], void> {
  const documents = store.collection(name as "keys");
  for (let after: string | undefined; ; ) {
    const behind = after === undefined ? {} : { _id: { $gt: after } };
    const page = await patiently(() => documents.find(behind, { sort: { _id: 1 }, limit: PAGE, ofAnyVersion: true }).toArray());
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < PAGE) return;
    after = last._id;
  }
};

/** What of a store of either engine belongs into a backup, read through its port page by page. */
export const readStore = async function* (store: Store, patiently: Patiently = once): AsyncGenerator<SourceBatch, void> {
  for (const collection of backedUp) {
    for await (const page of collection === "audit" ? pagesOfLog(store, patiently) : pagesOf(store, collection, patiently)) {
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
export const storeSource = async (store: Store, where: string, patiently: Patiently = once): Promise<BackupSource> => {
  const system = store.collection("system");
  const facts = factsOf(store.engine, await system.findOne({ _id: "schema" }), where);
  const dropped = () => patiently(() => lastDropped(store));
  const read = async function* (): AsyncGenerator<SourceBatch, void> {
    const before = await dropped();
    yield* readStore(store, patiently);
    if ((await dropped()) !== before) throw new Error("entries of the audit log were dropped meanwhile: take the backup again");
  };
  return { facts, size: undefined, read };
};
