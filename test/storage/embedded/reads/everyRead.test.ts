import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../../../src/platform/storage/embedded/openEmbeddedStore.ts";
import { TURN } from "../../../../src/platform/storage/embedded/sqlite/readTurns.ts";
import { SLICE } from "../../../../src/platform/storage/embedded/sqlite/slicedFind.ts";
import type { Store } from "../../../../src/platform/storage/port/store.ts";
import { meterReads } from "../../../support/readMeter.ts";
import { calls, repositories } from "./everyCall.ts";
import { fillStore, MANY } from "./largeStore.ts";

/**
 * The most that one turn of the event loop may cost. A found row takes some 12 steps, a row that a search looks at as many, and a value
 * looked up in a list 40: what `TURN` allows, plus one slice. The bytes may exceed that by one document. 10,000 steps
 * of this kind take about a millisecond.
 */
const MOST = { steps: 40_000, bytes: TURN.bytes + SLICE.bytes + 1024 * 1024 } as const;

describe("over a large embedded store, no read keeps the thread", () => {
  let directory: string;
  let store: Store;
  const meter = meterReads();

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-reads-"));
    store = openEmbeddedStore({ directory, clock: systemClock, mode: "server" });
    await store.prepare();
    fillStore(directory);
  }, 120_000);
  afterAll(async () => {
    meter[Symbol.dispose]();
    await store.close();
    await rm(directory, { recursive: true });
  });

  /** The most that one turn costs while `work` runs. */
  const costOf = async (work: () => unknown) => {
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    meter.reset();
    await work();
    return meter.worst();
  };
  const expectBounded = async (work: () => unknown) => {
    const { steps, bytes } = await costOf(work);
    expect(steps, "steps of one turn").toBeLessThanOrEqual(MOST.steps);
    expect(bytes, "bytes of one turn").toBeLessThanOrEqual(MOST.bytes);
  };

  test("a page after all that is deleted has the first that lives", async () => {
    const page = await repositories.keys(store).list({ apiId: "api_big", identityId: "id_big" }, { limit: 100, cursor: "" }, {});
    expect(page.items[0]?._id).toBe(`key_${String(MANY.keys * 0.75).padStart(8, "0")}`);
    expect(page.items).toHaveLength(100);
  });

  test("a page of documents of half a megabyte is complete, and in order", async () => {
    const first = `id_${String(MANY.others - MANY.large).padStart(8, "0")}`;
    const page = await repositories.identities(store).list({ limit: 100, cursor: first }, {});
    expect(page.items).toHaveLength(MANY.large);
    expect(page.items.map(({ _id }) => _id)).toEqual(page.items.map(({ _id }) => _id).sort());
  });

  test("[management §2] a way of finding keys reads as many entries as it finds, whatever else is stored", async () => {
    const search = repositories.keySearch(store);
    const where = { apiId: "api_big", field: "nameKey", prefix: "n" } as const;
    const behind = { text: "name", id: `key_${String(MANY.keys - 5_000).padStart(8, "0")}` };
    const reads = {
      start: () => search.findByText({ ...where, field: "start", prefix: "s" }, undefined, 101, {}),
      name: () => search.findByText(where, undefined, 101, {}),
      "name, further on": () => search.findByText(where, behind, 101, {}),
      "last four": () => search.findByLastFour({ apiId: "api_big", lastFour: "last" }, behind.id, 101, {}),
      "all there is": () => search.findOfApi({ apiId: "api_big" }, behind.id, 101, {}),
      "of one identity": () => search.findOfApi({ apiId: "api_big", identityId: "id_big" }, behind.id, 101, {}),
      "of identities": () => search.findOfIdentities({ apiIds: ["api_big"], identityIds: ["id_big", "id_none"] }, 101, {}),
    };
    for (const [way, read] of Object.entries(reads)) {
      let found: readonly unknown[] = [];
      const { steps } = await costOf(async () => {
        found = await read();
      });
      expect([way, found.length]).toEqual([way, 101]);
      // Some 15 for each entry; all there are would be thousands of times as many.
      expect([way, steps < 101 * 40]).toEqual([way, true]);
    }
  });

  test("every file of a repository is walked here", () => {
    const files = globSync("src/**/*Repository.ts", { cwd: join(import.meta.dirname, "../../../..") });
    const makers = files.map((file) => import(join(import.meta.dirname, "../../../..", file)));
    return Promise.all(makers).then((modules) => {
      const names = modules.flatMap((module) => Object.keys(module)).filter((name) => /^create\w+Repository$/.test(name));
      // The counters are a part of the store.
      expect([...names, "counters"].sort()).toEqual(
        Object.values(repositories)
          .map(({ name }) => name)
          .sort(),
      );
    });
  });

  for (const [name, create] of Object.entries(repositories)) {
    describe(name, () => {
      const listed = calls[name as keyof typeof calls] as Readonly<Record<string, (repository: unknown) => unknown>>;

      test("every method is walked here", () => {
        expect(Object.keys(listed).sort()).toEqual(
          Object.keys(create(store))
            .filter((key) => key !== "isShared")
            .sort(),
        );
      });

      test.each(Object.keys(listed))("%s", async (method) => {
        await expectBounded(() => listed[method]?.(create(store)));
      });
    });
  }

  test("a hundred lists and searches at once share the turns", async () => {
    const { keys, permissions } = { keys: repositories.keys(store), permissions: repositories.permissions(store) };
    await expectBounded(() =>
      Promise.all(
        Array.from({ length: 50 }, () => [
          keys.list({ apiId: "api_big" }, { limit: 100, cursor: "" }, {}),
          permissions.list({ limit: 100, cursor: "", search: "nowhere" }, {}),
        ]).flat(),
      ),
    );
  });

  test("a thousand concurrent look-ups share the turns, and are answered before a search continues", async () => {
    const { keys, permissions } = { keys: repositories.keys(store), permissions: repositories.permissions(store) };
    const answered: string[] = [];
    await expectBounded(() =>
      Promise.all([
        permissions.list({ limit: 100, cursor: "", search: "nowhere" }, {}).then(() => answered.push("search")),
        ...Array.from({ length: 3_000 }, (_, i) => keys.find(`key_${i}`).then(() => answered.push("key"))),
      ]),
    );
    expect(answered).toHaveLength(3_001);
    expect(answered.at(-1)).toBe("search");
  });
});
