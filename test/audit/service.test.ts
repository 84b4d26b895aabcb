import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { auditEvent, resource, systemSource } from "../../src/features/audit/auditEvent.ts";
import { createAuditLogRepository } from "../../src/features/audit/auditLogRepository.ts";
import { createAuditMover } from "../../src/features/audit/auditMover.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { createLeasesRepository } from "../../src/platform/storage/repositories/leasesRepository.ts";
import { newDocument } from "../../src/platform/storage/repositories/shared/audited.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";

const DAY = 86_400_000;

describe.each(engines)("the log of a service on $name", (engine) => {
  let store: Store;
  let api: Api | undefined;
  beforeEach(async () => {
    store = await engine.open();
  });
  afterEach(async () => {
    await (api === undefined ? store.close() : api.close());
    api = undefined;
  });
  afterAll(() => engine.close());

  const start = async (env = {}): Promise<(procedure: string, body: object) => Promise<Record<string, unknown>>> => {
    const started = await startApi(engine, { store, env });
    api = started;
    return async (procedure, body) => dataOf(await v2Edge(started.url).call(procedure, body, started.rootKey));
  };
  /** Adds events to the log, as a mover did that died with its lease, so many milliseconds ago. */
  const moveAndDie = async (count: number, ago: number): Promise<void> => {
    const clock = { ...systemClock, now: () => systemClock.now() - ago };
    for (let i = 0; i < count; i++) {
      const id = `api_${ago}_${i}`;
      const event = auditEvent(systemSource(clock), "api.create", "Created", resource("api", id));
      await store.collection("apis").insertOne({ ...newDocument(id, clock.now(), [event]), name: id });
    }
    await createAuditMover({ clock, auditLog: createAuditLogRepository(store), leases: createLeasesRepository(store) }).run();
  };

  test("[management §8] a change is seen within five seconds, also when the node has just died that moves events", async () => {
    const call = await start();
    // Until the service has no lease.
    await store.collection("leases").deleteOne({ _id: "audit" });
    await moveAndDie(1, 0);
    const { apiId } = await call("apis.createApi", { name: "seen" });
    const seen = async () => ((await call("audit.getLogs", { resourceId: apiId })) as unknown as readonly unknown[]).length;
    await expect.poll(seen, { timeout: 5_000, interval: 100 }).toBe(1);
  });

  test("[management §4] drops what is older than AUDIT_RETENTION_DAYS, by itself, and says so", async () => {
    await moveAndDie(5, 2 * DAY);
    await store.collection("leases").deleteOne({ _id: "audit" });
    await moveAndDie(2, DAY / 2);
    await store.collection("leases").deleteOne({ _id: "audit" });
    const call = await start({ AUDIT_RETENTION_DAYS: "1" });
    const list = async () => (await call("audit.getLogs", {})) as unknown as { event: string; meta: { sequence: number } }[];
    await expect.poll(async () => (await list())[0]?.meta.sequence, { timeout: 20_000 }).toBe(6);
    expect((await list()).filter(({ event }) => event === "audit.drop")).toHaveLength(1);
    const dropped = { sequence: 5, hash: expect.stringMatching(/^[0-9a-f]{64}$/), time: expect.stringMatching(/Z$/) };
    expect(await call("audit.verifyChain", {})).toMatchObject({ intact: true, fromSequence: 6, dropped });
    expect(await call("audit.verifyChain", { fromSequence: 2 })).toMatchObject({ intact: true, fromSequence: 6, dropped });
    await expect
      .poll(
        async () =>
          (
            await store
              .collection("audit")
              .find({ sequence: { $lte: 5 } })
              .toArray()
          ).length,
      )
      .toBe(0);
  });

  test("[management §4] a node lists the forms of entries that it supports in its row, and writes the old one while another node does not", async () => {
    const call = await start();
    const nodes = store.collection("nodes");
    const [row] = await nodes.find({}).toArray();
    expect(row).toMatchObject({ auditFormat: 3 });
    const { auditFormat: _, ...older } = row ?? expect.unreachable();
    await nodes.insertOne({ ...older, _id: "node_older" });
    const { apiId } = await call("apis.createApi", { name: "first" });
    const changes = async () => {
      const events = (await call("audit.getLogs", { resourceId: apiId, event: ["api.update"] })) as unknown as {
        meta: { changes?: unknown };
      }[];
      return events.map(({ meta }) => meta.changes);
    };
    await call("apis.updateApi", { apiId, name: "second" });
    await expect.poll(changes, { timeout: 10_000 }).toEqual([undefined]);
    await nodes.deleteOne({ _id: "node_older" });
    await call("apis.updateApi", { apiId, name: "third" });
    await expect.poll(changes, { timeout: 10_000 }).toEqual([undefined, [{ field: "name", before: "second", after: "third" }]]);
    expect(await call("audit.verifyChain", {})).toMatchObject({ intact: true });
  });

  test("[management §4] keeps everything by default", async () => {
    await moveAndDie(2, 4_000 * DAY);
    await store.collection("leases").deleteOne({ _id: "audit" });
    const call = await start();
    await call("apis.createApi", { name: "kept" });
    const list = async () => (await call("audit.getLogs", {})) as unknown as { event: string }[];
    await expect.poll(async () => (await list()).some(({ event }) => event === "rootKey.create"), { timeout: 20_000 }).toBe(true);
    const verdict = await call("audit.verifyChain", {});
    expect(verdict).toMatchObject({ intact: true, fromSequence: 1 });
    expect(verdict).not.toHaveProperty("dropped");
  });
});
