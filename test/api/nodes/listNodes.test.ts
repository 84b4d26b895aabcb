import { afterAll, describe, expect, test } from "vitest";
import { createNodesRepository } from "../../../src/features/nodes/nodesRepository.ts";
import { createId } from "../../../src/platform/base/ids.ts";
import { version } from "../../../src/platform/config/version.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../../src/platform/storage/port/baseDocument.ts";
import type { NodeDocument } from "../../../src/platform/storage/port/internalDocuments.ts";
import { expectError, startApi } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { everywhere } from "../../support/everywhere.ts";
import { engines } from "../../support/stores.ts";
import { eventsIn } from "../../support/written.ts";

interface ShownNode {
  readonly nodeId: string;
  readonly startedAt: number;
  readonly lastSeenAt: number;
  readonly cacheEntries: number;
  readonly cacheBytes: number;
}

const row = (nodeId: string, lastSeenAt: number) => ({
  ...{ _id: nodeId, version: "0.0.1", startedAt: 1, lastSeenAt, host: "elsewhere", inFlight: 0, eventLoopLagMs: 0 },
  ...{ changesLagMs: 0, cacheEntries: 0, cacheBytes: 0, verificationsPerSecond: 0, limitsPerSecond: 0 },
  ...{ store: { kind: "mongo", up: true, latencyMs: 1 }, analytics: { kind: "none", up: false, dropped: 0 } },
});

everywhere(
  (run) => {
    const list = async (rootKey?: string): Promise<ShownNode[]> => {
      const { status, body } = await run.call("nodes.listNodes", {}, rootKey);
      expect(status).toBe(200);
      return body.data as ShownNode[];
    };

    test("[management §7] a node is listed as soon as it has started, with all of its figures", async () => {
      const nodes = await list();
      const integer = expect.toSatisfy((value: unknown) => Number.isInteger(value) && (value as number) >= 0);
      expect(nodes.at(-1)).toEqual({
        nodeId: expect.stringMatching(/^node_[A-Za-z0-9]+$/),
        version,
        startedAt: integer,
        lastSeenAt: integer,
        host: expect.stringMatching(/./),
        store: { kind: run.engine, up: true, latencyMs: integer },
        changesLagMs: integer,
        cacheEntries: integer,
        cacheBytes: integer,
        inFlight: integer,
        verificationsPerSecond: integer,
        limitsPerSecond: integer,
        eventLoopLagMs: integer,
        analytics: { kind: "none", up: false, dropped: 0 },
      });
    });

    test("[management §7] it asks node.*.read_node, which knows no ids", async () => {
      const reader = await run.api.createRootKey({ permissions: ["node.*.read_node"] });
      expect((await list(reader)).length).toBeGreaterThan(0);
      const other = await run.api.createRootKey({ permissions: ["audit.*.read_audit_log"] });
      const { detail } = expectError(await run.call("nodes.listNodes", {}, other), 403, "unkey/authorization/insufficient_permissions");
      expect(detail).toContain("node.*.read_node");
      const body = { permissions: ["node.node_1.read_node"] };
      expectError(await run.call("rootKeys.createKey", body), 400, "unkey/application/invalid_input");
    });

    test("[management §7] one that is silent for 60 s is gone", async () => {
      const nodes = createNodesRepository(run.api.store);
      const [silent, late] = [createId("node", Date.now()), createId("node", Date.now())];
      await nodes.write(row(silent, Date.now() - 60_000));
      await nodes.write(row(late, Date.now() - 55_000));
      const ids = (await list()).map(({ nodeId }) => nodeId);
      expect([ids.includes(silent), ids.includes(late)]).toEqual([false, true]);
      await nodes.remove(late);
    });

    test("[management §8] figures that a node of another version does not write are 0, and those that only it knows are left out", async () => {
      const rows = run.api.store.collection("nodes");
      const [older, newer] = [createId("node", Date.now()), createId("node", Date.now())];
      const expireAt = new Date(Date.now() + 60_000);
      const base = { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID, expireAt };
      const { _id: _, ...facts } = row(newer, 5);
      const store = { ...facts.store, shards: 3 };
      // The types of this version do not allow such rows.
      await rows.insertOne({ _id: older, ...base } as NodeDocument);
      const unknown = { ...facts, _id: newer, ...base, inFlight: 2.5, cacheBytes: "many", moons: [1], store };
      await rows.insertOne(unknown as unknown as NodeDocument);
      const shown = new Map((await list()).map((node) => [node.nodeId, node]));
      const zeros = { startedAt: 0, lastSeenAt: 0, changesLagMs: 0, cacheEntries: 0, cacheBytes: 0, inFlight: 0, eventLoopLagMs: 0 };
      const empty = { version: "", host: "", store: { kind: "", up: false, latencyMs: 0 } };
      const analytics = { kind: "none", up: false, dropped: 0 };
      expect(shown.get(older)).toEqual({
        ...{ nodeId: older, ...zeros, ...empty, analytics, verificationsPerSecond: 0, limitsPerSecond: 0 },
      });
      expect(shown.get(newer)).toEqual({ ...facts, nodeId: newer, inFlight: 3, cacheBytes: 0 });
      for (const _id of [older, newer]) await rows.deleteOne({ _id });
    });

    test("[management §8] all rows are listed, without pagination", async () => {
      const nodes = createNodesRepository(run.api.store);
      const ids = Array.from({ length: 120 }, () => createId("node", Date.now()));
      for (const id of ids) await nodes.write(row(id, Date.now()));
      const { body } = await run.call("nodes.listNodes", {});
      expect(body).not.toHaveProperty("pagination");
      expect((body.data as ShownNode[]).map(({ nodeId }) => nodeId)).toEqual(expect.arrayContaining(ids));
      for (const id of ids) await nodes.remove(id);
    });
  },
  ["v2", "grpc"],
  { env: { ANALYTICS: "off" } },
);

describe.each(engines)("on $name", (engine) => {
  afterAll(() => engine.close());

  test("[management §7] a node writes its row every 5 s without an audit event, and removes it when it stops", async () => {
    const store = await engine.open();
    const api = await startApi(engine, { store });
    const beside = await engine.openBeside(store);
    const other = await startApi(engine, { store: beside });
    try {
      const list = async (): Promise<ShownNode[]> =>
        (await api.edges[0]?.call("nodes.listNodes", {}, api.rootKey))?.body.data as unknown as ShownNode[];
      const [first, second] = await list();
      expect([first?.nodeId === second?.nodeId, (await list()).length]).toEqual([false, 2]);
      const events = (await eventsIn(api.store)).length;
      await eventually(async () => {
        const again = (await list()).find(({ nodeId }) => nodeId === first?.nodeId);
        expect(again?.startedAt).toBe(first?.startedAt);
        expect(again?.lastSeenAt).toBeGreaterThanOrEqual((first?.lastSeenAt ?? 0) + 4_500);
        expect(again?.cacheEntries).toBeGreaterThan(0);
        expect(again?.cacheBytes).toBeGreaterThan(0);
      });
      expect((await eventsIn(api.store)).length).toBe(events);
      await other.close();
      expect((await list()).length).toBe(1);
    } finally {
      await api.close();
    }
  });
});
