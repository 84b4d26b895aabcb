import { expect, test } from "vitest";
import { embeddedCollection } from "../../../src/platform/storage/embedded/sqlite/embeddedCollection.ts";
import type { WriteOperation, WriteResult } from "../../../src/platform/storage/embedded/sqlite/messages.ts";
import { createReadTurns } from "../../../src/platform/storage/embedded/sqlite/readTurns.ts";
import { sampleKey } from "../contract/samples.ts";

const unread = { row: () => undefined, rows: () => undefined };
const nothing: WriteResult = { matched: 0, modified: 0, upserted: 0, deleted: 0 };

test("documents that come to megabytes are made texts and handed to the writer a part at a time, in order", async () => {
  const documents = Array.from({ length: 30 }, () => sampleKey({ meta: "x".repeat(200_000) }));
  const parts: (readonly string[])[] = [];
  const write = async (operation: WriteOperation): Promise<WriteResult> => {
    if (operation.kind === "bulk") parts.push(operation.operations.map((each) => (each.kind === "insert" ? each.text : "")));
    return nothing;
  };
  await embeddedCollection("keys", unread, createReadTurns(), { write } as never).insertMany(documents);
  expect(parts.map((part) => part.length)).toEqual(Array.from({ length: 10 }, () => 3));
  expect(parts.flat().map((text) => JSON.parse(text)._id)).toEqual(documents.map(({ _id }) => _id));
});
