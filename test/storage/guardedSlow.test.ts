import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../src/domain/clock.ts";
import { guardStore } from "../../src/storage/decorators/guardStore.ts";
import { openEmbeddedStore } from "../../src/storage/embedded/openEmbeddedStore.ts";
import { StoreUnavailableError } from "../../src/storage/port/errors.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { chargeWindow } from "../support/chargeWindow.ts";
import { eventually } from "../support/eventually.ts";
import { sampleKey } from "./contract/samples.ts";

let directory: string;
let inner: Store;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-slow-"));
  inner = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
  await inner.prepare();
});
afterEach(async () => {
  await inner.close();
  await rm(directory, { recursive: true });
});

const never = new Promise<never>(() => undefined);
const times = { clock: systemClock, operationTimeout: 20, pingInterval: 5, pingTimeout: 20 };
const unavailable = { name: "StoreUnavailableError" };

const withInserts = (insertOne: () => Promise<never>, others: Partial<Store>): Store => ({
  ...inner,
  collection: (name) => ({ ...inner.collection(name), insertOne }),
  ...others,
});

test("[issue 15, 11] a disk that is slower than a ping may be, and finishes something meanwhile, is not away", async () => {
  const progress = Promise.withResolvers<void>();
  const guarded = guardStore(
    withInserts(() => never, { ping: () => never, progress: () => progress.promise }),
    times,
  );
  const written = guarded.collection("keys").insertOne(sampleKey());
  progress.resolve();
  await expect(written).rejects.toMatchObject(unavailable);
  expect(guarded.state()).toBe("up");
});

test("[issue 15, 11] a disk that finishes nothing is away", async () => {
  const guarded = guardStore(
    withInserts(() => never, { ping: () => never, progress: () => never }),
    times,
  );
  await expect(guarded.collection("keys").insertOne(sampleKey())).rejects.toMatchObject(unavailable);
  expect(guarded.state()).toBe("away");
});

test("[protocol §9] what was on its way when the store went away ends with its own time: no ping is awaited once more", async () => {
  const failure = Promise.withResolvers<never>();
  const inserts = [() => never, () => failure.promise];
  const guarded = guardStore(
    withInserts(() => inserts.shift()?.() ?? never, { ping: () => never, progress: () => never }),
    { ...times, operationTimeout: 200, pingTimeout: 60_000 },
  );
  const slow = guarded.collection("keys").insertOne(sampleKey());
  const broken = guarded.collection("keys").insertOne(sampleKey());
  failure.reject(new StoreUnavailableError("broken"));
  await expect(broken).rejects.toMatchObject(unavailable);
  expect(guarded.state()).toBe("away");
  // As long as the ping may take, were it awaited.
  const late = sleep(30_000, "too late", { ref: false });
  await expect(Promise.race([slow, late])).rejects.toMatchObject({ ...unavailable, tooSlow: true });
});

test("[issue 15, 11] a store in this process is back when it answers, however late, and is asked once until then", async () => {
  const answers: PromiseWithResolvers<void>[] = [];
  const ping = () => {
    const answer = Promise.withResolvers<void>();
    answers.push(answer);
    return answer.promise;
  };
  const guarded = guardStore(
    withInserts(() => Promise.reject(new StoreUnavailableError("broken")), { ping }),
    times,
  );
  await expect(guarded.collection("keys").insertOne(sampleKey())).rejects.toMatchObject(unavailable);
  expect(guarded.state()).toBe("away");
  await sleep(5 * (times.pingTimeout + times.pingInterval));
  expect(answers).toHaveLength(1);
  answers[0]?.resolve();
  await eventually(() => expect(guarded.state()).toBe("up"));
});

test("[issue 15, 11] each commit and each commit of counters is progress", async () => {
  expect(inner.progress).toBeDefined();
  const commit = inner.progress?.();
  await inner.collection("keys").insertOne(sampleKey());
  await commit;
  const record = inner.progress?.();
  await chargeWindow(inner.counters, "a", 5, 9, 1);
  await record;
});
