import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { chainHash, GENESIS } from "../../src/audit/chainHash.ts";
import { type AuditEvent, type AuditLogDocument, WORKSPACE_ID } from "../../src/storage/documents.ts";
import { withStoreOf } from "../support/placed.ts";
import { spawnLatchkey } from "../support/process.ts";

const ENTRIES = 5_000;

/** A store whose log has so many entries that a pipe cannot hold them. */
const storeWithLog = async (): Promise<Record<string, string>> => {
  const env = { DATA_DIR: await mkdtemp(join(tmpdir(), "latchkey-audit-")) };
  onTestFinished(() => rm(env.DATA_DIR, { recursive: true, force: true }));
  let previousHash = GENESIS;
  const entries = Array.from({ length: ENTRIES }, (_, i): AuditLogDocument => {
    const event: AuditEvent = {
      ...{ id: `evt_${i}`, event: "api.create", time: i, actor: { type: "system", id: "test" }, display: "Created" },
      ...{ resources: [], correlationId: `req_${i}` },
    };
    const hash = chainHash(previousHash, i + 1, event);
    const entry: AuditLogDocument = { _id: event.id, v: 1, workspaceId: WORKSPACE_ID, sequence: i + 1, event, hash, previousHash };
    previousHash = hash;
    return entry;
  });
  await withStoreOf(env, (store) => store.collection("audit").insertMany(entries));
  return env;
};

test("[protocol §11] audit export into a pipe whose reader is slow prints every entry, and ends with 0", async () => {
  const child = spawnLatchkey(["audit", "export"], await storeWithLog());
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
  const child = spawnLatchkey(["audit", "export"], await storeWithLog());
  const closed = once(child, "close");
  if (child.stdout) await once(child.stdout, "data");
  child.stdout?.destroy();
  child.stderr?.resume();
  expect(await closed).toEqual([1, null]);
});

test("a command whose output cannot be written ends with 1 and says so", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  const env = await storeWithLog();
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
