import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { createRootKeyOn, startServiceOn, withStoreOf } from "../../bench/harness/placed.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { auditedCollections } from "../../src/platform/storage/port/auditedCollections.ts";
import type { AuditedDocument } from "../../src/platform/storage/port/baseDocument.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createObjects } from "../support/bodies.ts";
import { changing, manyWritesOf } from "../support/changing.ts";
import { places } from "../support/places.ts";
import { eventsIn } from "../support/written.ts";

const LOOPS = 4;

/** Events that say that something was made: their first resource is what. */
const making = new Set([
  ...["api.create", "key.create", "key.reroll", "identity.create", "permission.create", "role.create", "ratelimitNamespace.create"],
  ...["rootKey.create", "rootKey.reroll", "ratelimit.set_override", "migration.create"],
]);
const ending = /\.delete$|delete_override$/;

/** Everything that there is was made by an event, everything that an event made is there or was deleted by another. */
const expectTold = async (store: Store): Promise<void> => {
  const stored = new Map<string, AuditedDocument>();
  for (const name of auditedCollections) {
    const found = await store
      .collection(name as "apis")
      .find({})
      .toArray();
    for (const document of found) stored.set(document._id, document);
  }
  const events = await eventsIn(store);
  const idsOf = (kind: (event: string) => boolean): Set<string> =>
    new Set(events.flatMap(({ event, resources }) => (kind(event) ? (resources[0]?.id ?? []) : [])));
  const [made, ended] = [idsOf((event) => making.has(event)), idsOf((event) => ending.test(event))];
  expect([...stored.keys()].filter((id) => !made.has(id))).toEqual([]);
  expect([...stored.values()].filter(({ _id, deletedAt }) => (deletedAt !== undefined) !== ended.has(_id))).toEqual([]);
  expect([...made].filter((id) => !stored.has(id) && !ended.has(id))).toEqual([]);
};

describe.each(places)("a service that is killed during management calls of all kinds, on $name", ({ name, open, close }) => {
  let env: Record<string, string>;
  beforeAll(async () => {
    env = await open();
  });
  afterAll(() => close(env));

  test("[protocol §11] leaves no change without its event and no event without its change, and a log that is whole", async () => {
    const rootKey = await createRootKeyOn(env);
    for (const kills of name === "embedded" ? [60, 200] : [120]) {
      await using service = await startServiceOn(env);
      const edge = v2Edge(service.url);
      let answers = 0;
      const call = async (procedure: string, body: unknown): Promise<Record<string, unknown>> => {
        const answered = await edge.call(procedure, body, rootKey).catch(() => undefined);
        if (answered === undefined) throw new Error("no answer");
        const { status, body: answer } = answered;
        // Later calls on an object that the loop has deleted itself answer 404.
        expect([200, 404], JSON.stringify(answer)).toContain(status);
        if (++answers === kills) service.kill("SIGKILL");
        return answer.data as Record<string, unknown>;
      };
      const loop = async (n: number): Promise<void> => {
        for (;;) {
          const objects = await createObjects(call);
          // Each loop begins elsewhere, so that different kinds of calls run beside one another.
          const order = changing.map((_, i) => changing[(i + n * 7) % changing.length] ?? "");
          for (const procedure of order) await call(procedure, manyWritesOf(procedure, objects));
        }
      };
      const ends = await Promise.allSettled(Array.from({ length: LOOPS }, (_, n) => loop(n)));
      // Every loop ended because its connection did, none because of an answer.
      for (const end of ends) expect(end).toMatchObject({ status: "rejected", reason: { message: "no answer" } });
      expect(await service.exited).toBeNull();
      await withStoreOf(env, expectTold);
    }
    // As if the lease of the one that was killed had run out.
    await withStoreOf(env, (store) => store.collection("leases").deleteOne({ _id: "audit" }));
    await using service = await startServiceOn(env);
    expect(await service.stop()).toBe(0);
    await withStoreOf(env, expectTold);
    const { code, stdout } = await runLatchkeyHere(["audit", "verify"], env);
    expect(stdout).toMatch(/^\d\d\d+ entries, 0 pending/);
    expect(code).toBe(0);
  });
});
