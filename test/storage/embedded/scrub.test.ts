import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { sampleKey } from "../contract/samples.ts";

test("[data §4] the embedded store keeps its log while a reader uses it, says so, and empties it then", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-scrub-"));
  const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
  try {
    await store.prepare();
    const logBytes = async () => (await stat(join(directory, "latchkey.sqlite-wal"))).size;
    const reader = new DatabaseSync(join(directory, "latchkey.sqlite"), { readOnly: true });
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM keys").get();
    await store.collection("keys").insertOne(sampleKey());
    expect(await store.scrub?.()).toBe(false);
    expect(await logBytes()).toBeGreaterThan(0);
    reader.close();
    expect(await store.scrub?.()).toBe(true);
    expect(await logBytes()).toBe(0);
  } finally {
    await store.close();
    await rm(directory, { recursive: true });
  }
});
