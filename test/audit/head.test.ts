import { afterEach, describe, expect, test } from "vitest";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import type { AuditLogDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { engines } from "../support/stores.ts";

const entry = (sequence: number): AuditLogDocument =>
  ({ _id: `log_${sequence}`, v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, sequence, hash: `hash ${sequence}` }) as AuditLogDocument;

/** The store, and the least number of each look at its log for one entry; undefined for a look at all. */
const watched = (store: Store): { readonly store: Store; readonly looks: unknown[] } => {
  const looks: unknown[] = [];
  const collection: Store["collection"] = (name) => {
    const inner = store.collection(name);
    return {
      ...inner,
      findOne: (filter, options) => {
        looks.push((filter as { readonly sequence?: { readonly $gte: number } }).sequence?.$gte);
        return inner.findOne(filter, options);
      },
    };
  };
  return { store: { ...store, collection }, looks };
};

describe.each(engines)("the newest entry of the audit log on $name", (engine) => {
  afterEach(() => engine.close());

  test("is searched from the last known one on: only the first search reads the whole log", async () => {
    const { store, looks } = watched(await engine.open());
    const [log, other] = [createAuditLogRepository(store), createAuditLogRepository(store)];
    await other.append([1, 2, 3].map(entry));
    expect((await log.head())?.sequence).toBe(3);
    expect((await log.head())?.sequence).toBe(3);
    await other.append([4, 5].map(entry));
    expect((await log.head())?.hash).toBe("hash 5");
    expect((await log.head())?.sequence).toBe(5);
    expect(looks).toEqual([undefined, 3, 3, 5]);
  });

  test("is found where those that were seen are gone, and null where all are", async () => {
    const { store, looks } = watched(await engine.open());
    const log = createAuditLogRepository(store);
    expect(await log.head()).toBeNull();
    await log.append([7, 8].map(entry));
    expect((await log.head())?.sequence).toBe(8);
    await store.collection("audit").deleteMany({ _id: "log_8" });
    expect((await log.head())?.sequence).toBe(7);
    await log.removeThrough(8);
    expect(await log.head()).toBeNull();
    await log.append([entry(1)]);
    expect((await log.head())?.sequence).toBe(1);
    expect(looks).toEqual([undefined, undefined, 8, undefined, 7, undefined, undefined]);
  });
});
