import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { filterToSql, type Sort } from "../../../src/platform/storage/embedded/sqlite/filterToSql.ts";
import { collectionNames, createMissing } from "../../../src/platform/storage/embedded/sqlite/schema.ts";
import { WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import { containsText, type Filter, type FindOptions } from "../../../src/platform/storage/port/collection.ts";
import type { CollectionName, Documents } from "../../../src/platform/storage/port/documents.ts";
import { indexes } from "../../../src/platform/storage/port/indexes.ts";

const database = new DatabaseSync(":memory:");
for (const name of collectionNames) createMissing(database, name);

const plan = <N extends CollectionName>(
  name: N,
  filter: Filter<Documents[N]>,
  sort: FindOptions<Documents[N]>["sort"] = {},
  limit?: number,
): string => {
  const { text, parameters } = filterToSql(name, filter as Record<string, unknown>, sort as Sort, limit);
  const steps = database.prepare(`EXPLAIN QUERY PLAN SELECT doc FROM "${name}"${text}`).all(...parameters);
  return steps.map(({ detail }) => detail).join("; ");
};

const workspaceId = WORKSPACE_ID;

test("a declared index serves the equality of its fields", () => {
  for (const { collection, name, fields: declared } of indexes) {
    const fields: readonly string[] = declared;
    const filter = Object.fromEntries(fields.map((field) => [field, field === "expireAt" ? new Date(0) : field === "sequence" ? 1 : "x"]));
    const chosen = plan(collection, filter as Filter<Documents[typeof collection]>);
    // The id alone finds the document.
    expect(chosen).toContain(fields.includes("_id") ? `INDEX sqlite_autoindex_${collection}_1 (id=?)` : `INDEX ${collection}.${name} (`);
  }
});

test("a page of a list is read in the order of an index, without sorting", () => {
  const page = { sort: { _id: 1 }, limit: 101 } as const;
  const after = { _id: { $gt: "x" } };
  const live = { deletedAt: { $exists: false } } as const;
  const ofApi = "keys.liveOfApi (workspaceId=? AND apiId=? AND deletedAt=?";
  const ofIdentity = "keys.liveOfIdentity (workspaceId=? AND identityId=? AND apiId=? AND deletedAt=?";
  const pages = [
    [`${ofApi})`, plan("keys", { workspaceId, apiId: "a", ...live }, page.sort, page.limit)],
    [`${ofApi} AND id>?)`, plan("keys", { workspaceId, apiId: "a", ...live, ...after }, page.sort, page.limit)],
    [`${ofIdentity} AND id>?)`, plan("keys", { workspaceId, apiId: "a", identityId: "i", ...live, ...after }, page.sort, page.limit)],
    ["INDEX sqlite_autoindex_keys_1 (id>?)", plan("keys", { workspaceId, ...after }, page.sort, page.limit)],
    ["identities.liveTexts (deletedAt=? AND id>?)", plan("identities", { workspaceId, ...live, ...after }, page.sort, page.limit)],
    ["roles.liveTexts (deletedAt=? AND id=?)", plan("roles", { _id: { $in: ["a", "b"] }, ...live }, page.sort, page.limit)],
    [
      "overrides.liveOfNamespace (workspaceId=? AND namespaceId=? AND deletedAt=? AND id>?)",
      plan("overrides", { workspaceId, namespaceId: "n", ...live, ...after }, page.sort, page.limit),
    ],
    ["INDEX sqlite_autoindex_changes_1 (id>?)", plan("changes", after, page.sort, page.limit)],
    [
      "INDEX sqlite_autoindex_counters_1 (id>? AND id<?)",
      plan("counters", { _id: { $gte: "namespace:rlns_1:1000:user", $lt: "namespace:rlns_1:1000:uses" } }, page.sort, page.limit),
    ],
  ] as const;
  for (const [expected, chosen] of pages) {
    expect(chosen).toContain(expected);
    expect(chosen).not.toMatch(/TEMP B-TREE|SCAN (?!json_each)/);
  }
});

test("a search for a part of a text finds it in an index that has the text", () => {
  const live = { deletedAt: { $exists: false } } as const;
  for (const collection of ["identities", "permissions", "roles"] as const) {
    const found = plan(collection, { search: containsText("a"), _id: { $gt: "x" }, ...live }, { _id: 1 }, 101);
    expect(found).toContain(`${collection}.liveTexts (deletedAt=? AND id>?)`);
    expect(found).not.toMatch(/TEMP B-TREE|SCAN/);
  }
});

test("[management §2] a page of a list that starts with the newest is read backwards in an index that includes deletions", () => {
  const live = { deletedAt: { $exists: false } } as const;
  for (const collection of ["apis", "namespaces"] as const) {
    for (const [_id, bounds] of [
      [undefined, "deletedAt=?)"],
      [{ $lte: "x" }, "deletedAt=? AND id<?)"],
      [{ $in: ["a", "b"] }, "deletedAt=? AND id=?)"],
      [{ $in: ["a", "b"], $lt: "x" }, "deletedAt=? AND id=?)"],
    ] as const) {
      const chosen = plan(collection, { ...(_id && { _id }), ...live }, { _id: -1 }, 101);
      expect(chosen).toContain(`${collection}.live (${bounds}`);
      expect(chosen).not.toMatch(/TEMP B-TREE|SCAN (?!json_each)/);
    }
  }
  expect(plan("migrations", { ...live, _id: { $gte: "x" } }, { _id: 1 }, 101)).toContain("migrations.live (deletedAt=? AND id>?)");
});

test("[management §2] each way of finding keys reads one range of its index, in order, and nothing of deleted keys", () => {
  const live = { deletedAt: { $exists: false } } as const;
  const ofApi = { workspaceId, apiId: "a", ...live };
  const known = "workspaceId=? AND apiId=? AND deletedAt=?";
  const limit = 101;
  const plans = [
    [
      `keys.startOfApi (${known} AND start>? AND start<?)`,
      plan("keys", { ...ofApi, start: { $gte: "a", $lt: "b" } }, { start: 1, _id: 1 }, limit),
    ],
    [
      `keys.startOfApi (${known} AND start=? AND id>?)`,
      plan("keys", { ...ofApi, start: "a", _id: { $gt: "k" } }, { start: 1, _id: 1 }, limit),
    ],
    [
      `keys.nameOfApi (${known} AND nameKey>? AND nameKey<?)`,
      plan("keys", { ...ofApi, nameKey: { $lt: "b", $gt: "a" } }, { nameKey: 1, _id: 1 }, limit),
    ],
    [
      `keys.nameOfApi (${known} AND nameKey=? AND id>?)`,
      plan("keys", { ...ofApi, nameKey: "a", _id: { $gt: "k" } }, { nameKey: 1, _id: 1 }, limit),
    ],
    [`keys.lastFourOfApi (${known} AND lastFour=?)`, plan("keys", { ...ofApi, lastFour: "a" }, { lastFour: 1, _id: 1 }, limit)],
    [
      `keys.lastFourOfApi (${known} AND lastFour=? AND id>?)`,
      plan("keys", { ...ofApi, lastFour: "a", _id: { $gt: "k" } }, { lastFour: 1, _id: 1 }, limit),
    ],
    [
      "identities.externalKey (workspaceId=? AND externalKey>? AND externalKey<?)",
      plan("identities", { workspaceId, externalKey: { $gte: "a", $lt: "b" }, ...live }, { externalKey: 1, _id: 1 }, 1_000),
    ],
    [
      "keys.liveOfIdentity (workspaceId=? AND identityId=? AND apiId=? AND deletedAt=?)",
      plan("keys", { workspaceId, identityId: { $in: ["i", "j"] }, apiId: { $in: ["a", "b"] }, ...live }, {}, limit),
    ],
  ] as const;
  for (const [expected, chosen] of plans) {
    expect(chosen).toContain(expected);
    expect(chosen).not.toMatch(/TEMP B-TREE|SCAN (?!json_each)/);
  }
});

test("the newest entry of the audit log, and those after another, come from its index", () => {
  for (const chosen of [
    plan("audit", { workspaceId }, { sequence: -1 }, 1),
    plan("audit", { workspaceId, sequence: { $gt: 5 } }, { sequence: 1 }, 100),
  ]) {
    expect(chosen).toContain("INDEX audit.sequence");
    expect(chosen).not.toMatch(/TEMP B-TREE|SCAN/);
  }
});

test("[management §4] entries of the audit log that a filter finds come from ranges of ids and numbers, in order", () => {
  const page = plan("audit", { workspaceId, sequence: { $in: [5, 6] } }, { sequence: 1 }, 250);
  expect(page).toContain("INDEX audit.sequence (workspaceId=? AND sequence=?)");
  const forwards = plan("auditIndex", { _id: { $gte: "a1", $lte: "a2" } }, { _id: 1 }, 64);
  const newest = plan("auditIndex", { _id: { $gte: "b0", $lte: "b9" } }, { _id: -1 }, 1);
  for (const chosen of [forwards, newest]) expect(chosen).toContain("INDEX sqlite_autoindex_auditIndex_1 (id>? AND id<?)");
  for (const chosen of [page, forwards, newest]) expect(chosen).not.toMatch(/TEMP B-TREE|SCAN (?!json_each)/);
});

test("documents with pending events are found by their mark", () => {
  expect(plan("keys", { pendingMark: { $exists: true } }, {}, 100)).toContain("INDEX keys.pending");
  expect(plan("keys", { workspaceId, pendingMark: { $exists: true } }, {}, 100)).toContain("INDEX keys.pending");
});

test("deleted objects that wait for their sweep are found by its time, in order", () => {
  const chosen = plan("roles", { sweepFrom: { $lte: 5 } }, { sweepFrom: 1 }, 100);
  expect(chosen).toContain("INDEX roles.sweep");
  expect(chosen).not.toMatch(/TEMP B-TREE|SCAN/);
});

test("keys of a deleted API, and those of deleted identities, are found by an index", () => {
  expect(plan("keys", { workspaceId, apiId: "a" }, {}, 100)).toContain("INDEX keys.liveOfApi (workspaceId=? AND apiId=?)");
  const ofIdentities = plan("keys", { workspaceId, identityId: { $in: ["a", "b"] } }, {}, 100);
  expect(ofIdentities).toContain("INDEX keys.liveOfIdentity (workspaceId=? AND identityId=?)");
});

test("several values are looked up one by one", () => {
  expect(plan("keys", { _id: { $in: ["a", "b"] } })).toContain("INDEX sqlite_autoindex_keys_1 (id=?)");
  expect(plan("identities", { workspaceId, externalId: { $in: ["a", "b"] } })).toContain("INDEX identities.externalId");
});

test("expired rows are found by their index", () => {
  expect(plan("counters", { expireAt: { $lte: new Date(0) } }, {}, 500)).toContain("INDEX counters.expiry");
});
