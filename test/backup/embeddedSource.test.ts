import { appendFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { embeddedSource } from "../../src/backup/embeddedSource.ts";
import { encodeRecord, textOfRecord } from "../../src/storage/embedded/counters/logRecords.ts";
import { journalEntryOf } from "../../src/storage/embedded/counters/storedCounter.ts";
import { type Marks, readMarks } from "../../src/storage/embedded/marks.ts";
import { openSnapshot } from "../../src/storage/embedded/openSnapshot.ts";
import { filesIn } from "../../src/storage/embedded/storeFiles.ts";
import { sampleCounter } from "../storage/contract/samples.ts";
import { withServerStore } from "../storage/embedded/withServerStore.ts";
import { freshDirectory } from "../support/storePlaces.ts";

const HOUR = 3_600_000;

test("[data §1] a count that was given back is the last one in a backup, whatever the table has", async () => {
  const directory = await freshDirectory();
  const expireAt = Date.now() + HOUR;
  const counter = sampleCounter({ expireAt: new Date(expireAt) });
  await withServerStore(directory, async (store) => {
    await store.collection("counters").insertOne(counter);
  });
  const { _id: key, seq, previous } = counter;
  const given = { seq, previous, expireAt, current: counter.current - 1 };
  const text = textOfRecord([journalEntryOf(key, given)]);
  const files = filesIn(directory);
  const { record } = readMarks(files.marks) as Marks;
  await appendFile(files.logs[0], encodeRecord({ number: record + 1, text }));
  const snapshot = openSnapshot(directory);
  const batches = [...(embeddedSource(snapshot, Date.now()).read() as Iterable<{ collection: string; texts: readonly string[] }>)];
  snapshot.close();
  const texts = batches.filter(({ collection }) => collection === "counters").flatMap((batch) => batch.texts);
  expect(texts.map((each) => JSON.parse(each) as unknown)).toMatchObject([{ _id: key, current: given.current }]);
});
