import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import type { Store } from "../../../src/platform/storage/port/store.ts";

const program = join(import.meta.dirname, "acknowledgingWriter.ts");

describe("the embedded store after kill -9", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-crash-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Runs the writer, kills it after so many acknowledgements, and returns all lines that it printed. */
  const writeUntilKilled = async (prefix: string, acknowledgements: number): Promise<string[]> => {
    const child = spawn(process.execPath, [program, directory, prefix], { stdio: ["ignore", "pipe", "inherit"] });
    const lines: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      lines.push(line);
      if (lines.length === acknowledgements) child.kill("SIGKILL");
    }
    return lines;
  };

  const reopened = async <T>(look: (store: Store) => Promise<T>): Promise<T> => {
    const store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
    try {
      await store.prepare();
      return await look(store);
    } finally {
      await store.close();
    }
  };

  test("has every acknowledged write, and none partially", async () => {
    // During the first commits, during the growth of the log, and after the first checkpoints.
    for (const [round, acknowledgements] of [1, 40, 700, 6000].entries()) {
      const prefix = `round${round}`;
      const lines = await writeUntilKilled(prefix, acknowledgements);
      expect(lines.length).toBeGreaterThanOrEqual(acknowledgements);
      await reopened(async (store) => {
        const keys = store.collection("keys");
        const stored = new Set((await keys.find({}).toArray()).map(({ _id }) => _id));
        const inserted = lines.flatMap((line) => (line.startsWith("inserted ") ? [line.slice("inserted ".length)] : []));
        expect(inserted.filter((id) => !stored.has(id))).toEqual([]);
        for (const id of inserted.slice(0, 50))
          expect(await keys.findOne({ workspaceId: "ws_default", hash: id })).toMatchObject({ _id: id });

        const numbers = (word: string): number[] =>
          lines.flatMap((line) => (line.startsWith(`${word} `) ? [Number(line.slice(word.length + 1))] : []));
        const counted = numbers("counted");
        const counter = await store.counters.read(`${prefix}_total`);
        expect(counter?.current ?? 0).toBeGreaterThanOrEqual(Math.max(0, ...numbers("charged")));
        const total = await keys.findOne({ _id: `${prefix}_total` });
        expect(total?.revision).toBeGreaterThanOrEqual(Math.max(0, ...counted));
        expect(total?.remaining).toBe(total?.revision);
      });
    }
  });

  test("can be opened at once: the dead server holds no lock", async () => {
    await writeUntilKilled("a", 1);
    await reopened((store) => store.ping());
  });

  test("is held by a server that lives, whose end frees it", async () => {
    const child = spawn(process.execPath, [program, directory, "a"], { stdio: ["ignore", "pipe", "inherit"] });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    child.on("exit", () => resolve());
    await new Promise((started) => child.stdout.once("data", started));
    await expect(reopened((store) => store.ping())).rejects.toThrow(`another server uses the data directory ${directory}`);
    child.kill("SIGKILL");
    await ended;
    await reopened((store) => store.ping());
  });
});
