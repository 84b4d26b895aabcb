// @same-on-every-engine
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { runLatchkeyHere, serveHere } from "../../../bench/harness/commandLine.ts";
import { spawnLatchkey, startService } from "../../../bench/harness/latchkeyProcess.ts";
import { readBackup } from "../../../src/operations/backup/readBackup.ts";
import { procedureCaller } from "../../support/procedureCaller.ts";
import { sized } from "../../support/sized.ts";
import { freshDirectory } from "../../support/storePlaces.ts";

const KILLS = sized(1, 10);
const KEYS = sized(20, 300);

const textsOf = async (file: string): Promise<readonly string[]> => {
  const texts: string[] = [];
  for await (const part of readBackup(file)) if (part.kind === "batch") texts.push(...part.texts);
  return texts;
};

// Beside other load each start of a command takes seconds.
test("[data §4] an erasure whose command or service is killed at any moment and repeated comes to the same end", {
  timeout: 900_000,
}, async () => {
  const dataDir = await freshDirectory();
  const first = await serveHere(dataDir);
  const rootKey = await first.rootKey();
  const call = procedureCaller(first.url, rootKey);
  const { apiId } = await call("apis.createApi", { name: "payments" });
  await call("identities.createIdentity", { externalId: "dave_7731", meta: { mail: "dave_7731@example.com" } });
  for (let i = 0; i < KEYS; i++) await call("keys.createKey", { apiId, externalId: "dave_7731", name: `dave_7731 ${i}` });
  await first.stop();
  const erase = (url: string) => [["identity", "erase", "dave_7731", "--yes", "--url", url], { LATCHKEY_ROOT_KEY: rootKey }] as const;
  for (let kills = 0; kills < KILLS; kills++) {
    await using service = await startService({ dataDir });
    const child = spawnLatchkey(...erase(service.url));
    const ended = new Promise((resolve) => child.once("close", resolve));
    await sleep(300 + Math.random() * 1_200);
    child.kill("SIGKILL");
    service.kill("SIGKILL");
    await Promise.all([ended, service.exited]);
  }
  await using last = await serveHere(dataDir);
  const erased = await runLatchkeyHere(...erase(last.url));
  // The last that was killed may have been done.
  if (erased.code !== 0) expect(erased).toMatchObject({ code: 4 });
  await last.stop();
  expect(await runLatchkeyHere(["audit", "verify"], { DATA_DIR: dataDir })).toMatchObject({ code: 0 });
  const copy = join(await freshDirectory(), "erased.backup");
  expect(await runLatchkeyHere(["backup", copy], { DATA_DIR: dataDir })).toMatchObject({ code: 0 });
  expect((await textsOf(copy)).filter((text) => text.includes("dave_7731"))).toEqual([]);
});
