// @same-on-every-engine
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { spawnLatchkey } from "../../bench/harness/latchkeyProcess.ts";
import { storeWithLog } from "../support/auditStore.ts";

/** So many that a pipe cannot hold them. */
const ENTRIES = 5_000;

test("[protocol §11] audit export into a pipe whose reader is slow prints every entry, and ends with 0", async () => {
  const child = spawnLatchkey(["audit", "export"], await storeWithLog(ENTRIES));
  const closed = once(child, "close");
  let text = "";
  for await (const chunk of child.stdout?.setEncoding("utf8") ?? []) {
    text += chunk;
    await sleep(2);
  }
  expect(await closed).toEqual([0, null]);
  expect(
    text
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { sequence: number }).sequence),
  ).toEqual(Array.from({ length: ENTRIES }, (_, i) => i + 1));
});

test("[protocol §11] audit export ends when its reader has left", async () => {
  const child = spawnLatchkey(["audit", "export"], await storeWithLog(ENTRIES));
  const closed = once(child, "close");
  if (child.stdout) await once(child.stdout, "data");
  child.stdout?.destroy();
  child.stderr?.resume();
  expect(await closed).toEqual([1, null]);
});

test("a command whose output cannot be written ends with 1 and says so", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const env = await storeWithLog(ENTRIES);
  for (const args of [
    ["audit", "export"],
    ["root-key", "create", "--name", "lost"],
  ]) {
    const child = spawnLatchkey(args, env, full);
    let complaints = "";
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      complaints += chunk;
    });
    expect([args, await once(child, "close")]).toEqual([args, [1, null]]);
    expect(complaints).toContain("standard output cannot be written: ");
    expect(complaints).toContain("ENOSPC");
  }
});
