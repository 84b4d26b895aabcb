// @same-on-every-engine
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { serveHere } from "../../bench/harness/commandLine.ts";
import { runLatchkey } from "../../bench/harness/latchkeyProcess.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { procedureCaller } from "../support/procedureCaller.ts";
import { freshDirectory } from "../support/storePlaces.ts";

test("[data §1] a backup during writes is a consistent snapshot", async () => {
  await using service = await serveHere(await freshDirectory());
  const call = procedureCaller(service.url, await service.rootKey());
  const { apiId } = await call("apis.createApi", { name: "busy" });
  const file = join(await freshDirectory(), "busy.backup");
  let isOver = false;
  let made = 0;
  const writers = Promise.all(
    Array.from({ length: 4 }, async (_, writer) => {
      while (!isOver) {
        await call("keys.createKey", { apiId, credits: { remaining: 5 } });
        made++;
        await call("ratelimit.limit", { namespace: "n", identifier: `i${writer}`, limit: 1_000_000, duration: 3_600_000 });
      }
    }),
  );
  while (made < 50) await sleep(10);
  const before = made;
  const taken = await runLatchkey(["backup", file], { DATA_DIR: service.dataDir });
  isOver = true;
  await writers;
  expect(taken).toMatchObject({ code: 0 });
  const { end, fault } = await checkBackup(file);
  expect(fault).toBeUndefined();
  expect(end.tallies.keys?.documents).toBeGreaterThanOrEqual(before);
  expect(end.tallies.counters?.documents).toBe(4);
});
