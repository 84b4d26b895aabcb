import { expect, test } from "vitest";
import { createNodeReporter, type NodeReporter } from "../../src/features/nodes/nodeReporter.ts";
import type { NodeRow } from "../../src/features/nodes/nodesRepository.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { eventually } from "../support/eventually.ts";

const away = async (): Promise<never> => {
  throw new Error("away");
};

const open = (options: { readonly ping?: () => Promise<void>; readonly write?: (row: NodeRow) => Promise<void> } = {}) => {
  const rows: NodeRow[] = [];
  const removed: string[] = [];
  const errors: unknown[] = [];
  const totals = { verifications: 10, limits: 100 };
  const reporter: NodeReporter = createNodeReporter({
    clock: systemClock,
    nodes: {
      write: options.write ?? (async (row) => void rows.push(row)),
      remove: async (id) => void removed.push(id),
    },
    node: { _id: "node_1", version: "1.2.3", host: "here", storeKind: "embedded" },
    figures: () => ({
      ...{ changesLagMs: 1, cacheEntries: 2, cacheBytes: 3, inFlight: 4, storeUp: true, totals: { ...totals } },
      analytics: { kind: "none", up: false, dropped: 0 },
    }),
    ping: options.ping ?? (async () => undefined),
    onError: (error) => errors.push(error),
  });
  return { reporter, rows, removed, errors, totals };
};

test("[management §7] the first row is written at the start, and every 5 s another with the rates since then; the last is removed", async () => {
  const { reporter, rows, removed, errors, totals } = open();
  await reporter.start();
  expect(rows).toMatchObject([
    { _id: "node_1", version: "1.2.3", host: "here", verificationsPerSecond: 0, limitsPerSecond: 0, inFlight: 4 },
  ]);
  totals.verifications += 5_000;
  totals.limits += 50_000;
  await eventually(() => expect(rows.length).toBe(2));
  const [first, second] = rows as [NodeRow, NodeRow];
  expect(second.startedAt).toBe(first.startedAt);
  expect(second.lastSeenAt - first.lastSeenAt).toBeGreaterThanOrEqual(4_500);
  expect(second.verificationsPerSecond).toBeGreaterThan(0);
  expect(Math.round(second.limitsPerSecond / second.verificationsPerSecond)).toBe(10);
  expect(removed).toEqual([]);
  await reporter.stop();
  expect([removed, errors]).toEqual([["node_1"], []]);
});

test("[management §7] an unavailable store breaks nothing: it is logged, and the next row comes once it is back", async () => {
  let isAway = true;
  const { reporter, rows, errors } = open({ ping: async () => (isAway ? away() : undefined) });
  await reporter.start();
  expect([rows.length, errors.length]).toEqual([0, 1]);
  isAway = false;
  await eventually(() => expect(rows.length).toBe(1));
  await reporter.stop();
});

test("[management §7] one row is written at a time, and a stop waits for it", async () => {
  let writes = 0;
  let finish: (() => void) | undefined;
  const { reporter, removed } = open({
    write: () => {
      writes++;
      return new Promise((resolve) => {
        finish = resolve;
      });
    },
  });
  const started = reporter.start();
  await eventually(() => expect(writes).toBe(1));
  const stopped = reporter.stop();
  expect(removed).toEqual([]);
  finish?.();
  await Promise.all([started, stopped]);
  expect([writes, removed]).toEqual([1, ["node_1"]]);
});
