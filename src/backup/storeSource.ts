import { toText } from "../storage/embedded/sqlite/documentText.ts";
import type { Fields } from "../storage/port/applyUpdate.ts";
import { WORKSPACE_ID } from "../storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../storage/port/documents.ts";
import type { Store } from "../storage/port/store.ts";
import { type BackedUpCollection, backedUp } from "./backedUp.ts";
import { backedUpForm } from "./backedUpForm.ts";
import { type BackupSource, inBatches, type SourceBatch } from "./backupSource.ts";

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

/**
 * A store of either engine, read through its port, page by page: what is written meanwhile may be in it or not. Rejects where the store
 * was not prepared.
 */
export const storeSource = async (store: Store): Promise<BackupSource> => {
  const found = await store.collection("system").findOne({ _id: "schema" });
  if (found === null) throw new Error("the store does not say of which version it is");
  const { v: madeBy, schema = madeBy, backfill } = found;
  const read = async function* (): AsyncGenerator<SourceBatch, void> {
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
  return { facts: { engine: store.engine, schema, madeBy, ...(backfill && { backfill }) }, size: undefined, read };
};
