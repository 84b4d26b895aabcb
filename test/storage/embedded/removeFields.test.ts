import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { columnValues } from "../../../src/platform/storage/embedded/sqlite/columns.ts";
import { toText } from "../../../src/platform/storage/embedded/sqlite/documentText.ts";
import { writeExecutor } from "../../../src/platform/storage/embedded/sqlite/executeWrite.ts";
import type { WriteOperation } from "../../../src/platform/storage/embedded/sqlite/messages.ts";
import { createMissing } from "../../../src/platform/storage/embedded/sqlite/schema.ts";
import type { Fields } from "../../../src/platform/storage/port/applyUpdate.ts";

const database = new DatabaseSync(":memory:");
createMissing(database, "apis");
const execute = writeExecutor(database);

const run = (operation: WriteOperation) => {
  database.exec("BEGIN");
  const result = execute(operation);
  database.exec("COMMIT");
  return result;
};

const insert = (document: Fields & { readonly _id: string }): void => {
  const operation = { kind: "insert", collection: "apis", id: document._id, text: toText(document) } as const;
  expect(run({ ...operation, columns: columnValues("apis", document) }).failure).toBeUndefined();
};

const remove = (filter: Fields) =>
  run({ kind: "update", collection: "apis", filter, update: { $unset: { outbox: "", pendingMark: "", absent: "" } }, upsert: false });

const row = (id: string) => database.prepare(`SELECT doc, "pendingMark" FROM "apis" WHERE id=?`).get(id);

test("an update that only removes fields leaves the text of all others as it is, and removes their columns", () => {
  const rest = { _id: "a", v: 1, n: 1e21, name: 'é "\u2028 \\ \u0001', list: [1, { outbox: "stays" }], revision: 0.1 };
  insert({ ...rest, outbox: [{ id: "log_1" }], pendingMark: "log_1" });
  expect(remove({ _id: "a", pendingMark: "log_1" })).toMatchObject({ matched: 1, modified: 1 });
  expect(row("a")).toEqual({ doc: JSON.stringify(rest), pendingMark: null });
});

test("nothing is removed from a document that the filter does not match any more", () => {
  insert({ _id: "b", v: 1, outbox: [], pendingMark: "log_3" });
  expect(remove({ _id: "b", pendingMark: "log_2" })).toMatchObject({ matched: 0, modified: 0 });
  expect(row("b")).toMatchObject({ pendingMark: "log_3" });
});

test("a removal that changes nothing is no modification", () => {
  insert({ _id: "c", v: 1 });
  expect(remove({ _id: "c" })).toMatchObject({ matched: 1, modified: 0 });
});

test("fields of a text that is no document are not removed: it is damaged", () => {
  insert({ _id: "d", v: 1, pendingMark: "log_4" });
  database.exec(`UPDATE "apis" SET doc='{"_id":"d",' WHERE id='d'`);
  expect(remove({ _id: "d", pendingMark: "log_4" }).failure).toMatchObject({ damaged: expect.stringContaining("a row of apis") });
});
