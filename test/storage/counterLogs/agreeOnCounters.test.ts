import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/domain/clock.ts";
import { agreeOnCounters, type CountersKept } from "../../../src/storage/mongo/counterLogs/agreeOnCounters.ts";
import { createCounterLog } from "../../../src/storage/mongo/counterLogs/counterLog.ts";
import { mongoCounterLogStore } from "../../../src/storage/mongo/counterLogs/mongoCounterLogStore.ts";
import { eventually } from "../../support/eventually.ts";

const url = process.env.MONGODB_URL;
const key = "namespace:n:60000:someone";

const setting = async () => {
  const client = await new MongoClient(url ?? "", { writeConcern: { w: "majority" }, readConcernLevel: "majority" }).connect();
  const database = client.db(`agree_${randomUUID().slice(0, 8)}`);
  const log = () =>
    createCounterLog({
      store: mongoCounterLogStore(database.collection("counterLog"), (op) => op(), 2_500),
      clock: systemClock,
      patience: 2_500,
    });
  const options = (kept: CountersKept, run: <T>(operation: () => Promise<T>) => Promise<T> = (operation) => operation()) => ({
    database,
    kept,
    clock: systemClock,
    openLog: log,
    run,
  });
  return {
    client,
    database,
    log,
    options,
    end: async () => {
      await database.dropDatabase();
      await client.close();
    },
  };
};
const seq = () => Math.floor(Date.now() / 60_000);

test.skipIf(url === undefined)(
  "what one node has charged since it moved the counters stays when another one has moved them, too",
  async () => {
    const { database, log, options, end } = await setting();
    const before = log();
    await before.change({ key, seq: seq(), amount: 50 });
    await before.close();
    await database.collection<{ _id: string }>("leases").insertOne({ _id: "counters kept", holder: "logs" } as never);
    // The second one is about to move when the first one has.
    let commands = 0;
    const hold = Promise.withResolvers<void>();
    const isHeld = Promise.withResolvers<void>();
    const second = agreeOnCounters(
      options("documents", async (operation) => {
        // Behind all that it looks at before the move.
        if (++commands === 5) {
          isHeld.resolve();
          await hold.promise;
        }
        return operation();
      }),
    );
    await isHeld.promise;
    await agreeOnCounters(options("documents"));
    const counters = database.collection<{ _id: string; current: number }>("counters");
    expect(await counters.findOne({ _id: key })).toMatchObject({ current: 50 });
    await counters.updateOne({ _id: key }, { $inc: { current: 50 } });
    hold.resolve();
    await second;
    const after = await counters.findOne({ _id: key });
    await end();
    expect(after).toMatchObject({ current: 100 });
  },
);

test.skipIf(url === undefined)("four nodes that start at once take along what was counted once", async () => {
  const { database, log, options, end } = await setting();
  await database.collection<{ _id: string }>("counters").insertOne({
    _id: key,
    seq: seq(),
    current: 30,
    previous: 0,
    expireAt: new Date(Date.now() + 180_000),
  } as never);
  const started = Array.from({ length: 4 }, () =>
    // As a service does that finds its store not ready.
    eventually(() => agreeOnCounters(options("logs"))),
  );
  await Promise.all(started);
  const counted = await log().read(key);
  await end();
  expect(counted).toMatchObject({ current: 30 });
});
