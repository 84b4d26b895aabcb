import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";
import { runLatchkey } from "../../../bench/harness/latchkeyProcess.ts";
import { filesIn } from "../../../src/storage/embedded/storeFiles.ts";
import { sampleKey } from "../contract/samples.ts";
import { withServerStore } from "./withServerStore.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-evidence-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("[issue 15, 10] the process ends with one sentence, which names the file and the way on; commands and doctor say it as well", async () => {
  await withServerStore(directory, (store) => store.collection("keys").insertOne(sampleKey()));
  const { database } = filesIn(directory);
  await writeFile(database, Buffer.alloc(100, 0xa5), { flag: "r+" });
  const sentence = `${database} is damaged (file is not a database): put the right file back, or let "latchkey repair" go on without what cannot be read in it any more`;
  const env = { DATA_DIR: directory, PORT: "0", ADMIN_PORT: "0", ANALYTICS: "off" };
  expect(await runLatchkey(["serve"], env)).toEqual({ code: 1, stdout: "", stderr: `latchkey: ${sentence}\n` });
  expect(await runCommand(["root-key", "list"], env)).toMatchObject({ code: 1, complained: [`latchkey: ${sentence}`] });
  expect(await runCommand(["doctor"], env)).toMatchObject({ code: 1 });
  expect(await runCommand(["repair"], env)).toMatchObject({ code: 0 });
  expect(await runCommand(["doctor"], env)).toMatchObject({ code: 0 });
});
