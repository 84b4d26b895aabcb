// @same-on-every-engine
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runLatchkeyHere, serveHere } from "../../bench/harness/commandLine.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { storeSource } from "../../src/operations/backup/storeSource.ts";
import { writeBackup } from "../../src/operations/backup/writeBackup.ts";
import { procedureCaller } from "../support/procedureCaller.ts";
import { embeddedPlace, freshDirectory } from "../support/storePlaces.ts";

test("[data §1] an import that was killed between its copy and the first write takes the copy again; any other file stays", async () => {
  await using service = await serveHere(await freshDirectory());
  await procedureCaller(service.url, await service.rootKey())("apis.createApi", { name: "moved" });
  await service.stop();
  const [target, other] = [await embeddedPlace(), await embeddedPlace()];
  const file = join(await freshDirectory(), "import.backup");
  const source = await storeSource(await (await embeddedPlace()).open("tool"), "the test");
  const leave = (importInto: string) => writeBackup(source, file, { product: "test", now: 1, importInto });
  const args = ["import", "--from-data-dir", service.dataDir, "--file", file];

  await leave(`embedded store in ${other.env.DATA_DIR}`);
  expect(await runLatchkeyHere(args, target.env)).toMatchObject({ code: 2, stderr: expect.stringContaining("exists already") });
  expect((await checkBackup(file)).header.takenAt).toBe(1);
  await rm(file);

  await leave(`embedded store in ${target.env.DATA_DIR}`);
  const imported = await runLatchkeyHere(args, target.env);
  expect(imported).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("taking it anew") });
  const copy = join(await freshDirectory(), "copy.backup");
  expect(await runLatchkeyHere(["backup", copy], target.env)).toMatchObject({ code: 0 });
  expect((await checkBackup(copy)).end.tallies).toMatchObject({ apis: { documents: 1 } });
});
