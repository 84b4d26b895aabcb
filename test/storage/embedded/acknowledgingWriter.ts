/** A process that writes to the embedded store in the directory of its argument, without end, and prints what was acknowledged. */
import { writeSync } from "node:fs";
import { systemClock } from "../../../src/domain/clock.ts";
import { openEmbeddedStore } from "../../../src/storage/embedded/openEmbeddedStore.ts";
import { chargeWindow } from "../../support/chargeWindow.ts";
import { sampleKey } from "../contract/samples.ts";

const [directory = "", prefix = ""] = process.argv.slice(2);
const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
await store.prepare();
const keys = store.collection("keys");
const total = `${prefix}_total`;
await keys.insertOne(sampleKey({ _id: total, hash: total, remaining: 0, revision: 0 }));

const counters = store.counters;

/** Told before anything else happens; a pipe that is full is waited for. */
const tell = (line: string): void => {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    }
  }
};

/** Both numbers move together, so a document in which they differ was written by half. */
const writeOne = async (id: string): Promise<void> => {
  await keys.insertOne(sampleKey({ _id: id, hash: id, meta: "x".repeat(2000) }));
  tell(`inserted ${id}`);
  const after = await keys.findOneAndUpdate({ _id: total }, { $inc: { remaining: 1, revision: 1 } }, { returnDocument: "after" });
  tell(`counted ${after?.revision}`);
  const charged = await chargeWindow(counters, total, 5, 1_000_000_000, 1);
  tell(`charged ${charged?.current}`);
};

await Promise.all(
  Array.from({ length: 16 }, async (_, writer) => {
    for (let position = 0; ; position++) await writeOne(`${prefix}_${writer}_${position}`);
  }),
);
