import { expect, test } from "vitest";
import { embeddedSource } from "../../src/operations/backup/embeddedSource.ts";
import { openSnapshot } from "../../src/platform/storage/embedded/openSnapshot.ts";
import { sampleCounter } from "../storage/contract/samples.ts";
import { withServerStore } from "../storage/embedded/withServerStore.ts";
import { freshDirectory } from "../support/storePlaces.ts";

const HOUR = 3_600_000;

const countersIn = (directory: string): unknown[] => {
  const snapshot = openSnapshot(directory);
  const batches = [...(embeddedSource(snapshot, Date.now()).read() as Iterable<{ collection: string; texts: readonly string[] }>)];
  snapshot.close();
  const texts = batches.filter(({ collection }) => collection === "counters").flatMap((batch) => batch.texts);
  return texts.map((each) => JSON.parse(each) as unknown);
};

test("[data §1] a count that was given back is the last one in a backup, whatever the table has", async () => {
  const directory = await freshDirectory();
  const counter = sampleCounter({ current: 3, expireAt: new Date(Date.now() + HOUR) });
  const { _id: key, seq } = counter;
  await withServerStore(directory, async (store) => {
    await store.collection("counters").insertOne(counter);
  });
  expect(countersIn(directory)).toMatchObject([{ _id: key, current: counter.current }]);
  await withServerStore(directory, async (store) => {
    await store.counters.refund(key, seq, 1);
    await store.collection("counters").insertOne(counter);
    expect(countersIn(directory)).toMatchObject([{ _id: key, current: counter.current - 1, seq }]);
  });
});
