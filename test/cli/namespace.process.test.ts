// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import type { ServiceProcess } from "../../bench/harness/latchkeyProcess.ts";
import { createRootKeyOn, startServiceOn } from "../../bench/harness/placed.ts";
import type { Edge } from "../../bench/harness/v2Edge.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import { dataOf, expectError, testConfig } from "../support/api.ts";
import { openEdges } from "../support/edges.ts";
import { places } from "../support/places.ts";
import { eventsIn } from "../support/written.ts";

const MONTH = 2_592_000_000;
const GONE = "unkey/data/ratelimit_namespace_gone";
const NOT_FOUND = "unkey/data/ratelimit_namespace_not_found";

describe.each(places)("on $name, next to a running service", ({ open, close }) => {
  let env: Record<string, string>;
  let service: ServiceProcess;
  let edges: readonly Edge[];
  let rootKey: string;
  const call = (procedure: string, body: unknown, edge = edges[0]) => {
    if (!edge) throw new Error("there is no edge");
    return edge.call(procedure, body, rootKey);
  };
  const limitOf = (namespace: string) => ({ namespace, identifier: "user", limit: 10, duration: MONTH });

  beforeAll(async () => {
    env = await open();
    service = await startServiceOn(env);
    rootKey = await createRootKeyOn(env);
    edges = openEdges(service.url).filter(({ name }) => name === "v2" || name === "grpc");
  });
  afterAll(async () => {
    for (const edge of edges) edge.close();
    await service[Symbol.asyncDispose]();
    await close(env);
  });

  test("[ratelimit §4] a deleted namespace is 410 for checks, 404 for overrides, by id and name, and is never made again", async () => {
    dataOf(await call("ratelimit.limit", limitOf("doomed")));
    dataOf(await call("ratelimit.setOverride", limitOf("doomed")));
    const deleted = await runCommand(["namespace", "delete", "doomed", "--yes"], env);
    expect(deleted).toMatchObject({ code: 0, printed: [] });
    const [, id = ""] = /^Deleted (rlns_\w+)\.$/.exec(deleted.complained.join("\n")) ?? [];
    await expect.poll(async () => (await call("ratelimit.limit", limitOf("doomed"))).status).toBe(410);
    for (const edge of edges) {
      for (const namespace of ["doomed", id]) {
        for (const [procedure, body] of [
          ["ratelimit.limit", limitOf(namespace)],
          ["ratelimit.multiLimit", [limitOf("alive"), limitOf(namespace)]],
        ] as const) {
          const error = expectError(await call(procedure, body, edge), 410, GONE);
          expect(error.title).toBe("Gone");
          expect(error.detail).toContain("deleted");
        }
        const { limit: _limit, duration: _duration, ...named } = limitOf(namespace);
        expectError(await call("ratelimit.setOverride", limitOf(namespace), edge), 404, NOT_FOUND);
        expectError(await call("ratelimit.getOverride", named, edge), 404, NOT_FOUND);
        expectError(await call("ratelimit.deleteOverride", named, edge), 404, NOT_FOUND);
        expectError(await call("ratelimit.listOverrides", { namespace }, edge), 404, NOT_FOUND);
      }
    }

    expect(await runCommand(["namespace", "delete", id, "--yes"], env)).toMatchObject({
      code: 4,
      complained: [expect.stringContaining("already")],
    });
    expect(await runCommand(["namespace", "delete", "never", "--yes"], env)).toMatchObject({
      code: 4,
      complained: [expect.stringContaining("does not exist")],
    });
    const store = await openStore({ ...testConfig(env), clock: systemClock, mode: "tool" });
    try {
      await store.prepare();
      expect(await store.collection("namespaces").find({ name: "doomed" }).toArray()).toHaveLength(1);
      const events = (await eventsIn(store)).filter(({ resources }) => resources.some((resource) => resource.id === id));
      expect(events.map(({ event, actor }) => [event, actor.type])).toEqual([
        ["ratelimitNamespace.create", "rootkey"],
        ["ratelimitNamespace.delete", "system"],
      ]);
    } finally {
      await store.close();
    }
  });
});
