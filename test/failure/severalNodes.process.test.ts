import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";
import { type Edge, v2Edge } from "../../bench/harness/v2Edge.ts";
import { dataOf } from "../support/api.ts";
import { onEveryEngine } from "../support/onEveryEngine.ts";

const MONTH = 2_592_000_000;
const ROUNDS = 10;

interface Cluster {
  readonly processes: readonly ServiceProcess[];
  readonly rootKey: string;
  readonly close: () => Promise<void>;
}

const startEmbedded = async (): Promise<Cluster> => {
  const service = await startService();
  return { processes: [service], rootKey: await service.rootKey(), close: async () => service[Symbol.asyncDispose]() };
};

const startTwoOn = async (server: string): Promise<Cluster> => {
  const url = freshMongoUrl(server);
  const rootKey = await createRootKeyOn({ MONGODB_URL: url });
  const processes = await Promise.all([1, 2].map(() => startService({ env: { MONGODB_URL: url } })));
  return {
    processes,
    rootKey,
    close: async () => {
      await Promise.all(processes.map((service) => service[Symbol.asyncDispose]()));
      await dropMongoDatabase(url);
    },
  };
};

const clusters = onEveryEngine({ name: "one process on the embedded store", start: startEmbedded }, (server) => ({
  name: "two processes on MongoDB",
  start: () => startTwoOn(server),
}));

describe.each(clusters)("$name", ({ start }) => {
  let cluster: Cluster;
  let edges: Edge[];
  beforeAll(async () => {
    cluster = await start();
    edges = cluster.processes.map(({ url }) => v2Edge(url));
  });
  afterAll(() => cluster.close());

  /** Calls the processes in turn. */
  const call = async (n: number, procedure: string, body: unknown): Promise<Record<string, unknown>> => {
    const edge = edges[n % edges.length];
    if (!edge) throw new Error("there is no process");
    return dataOf(await edge.call(procedure, body, cluster.rootKey));
  };
  const createKey = async (fields: object) => {
    const { apiId } = await call(0, "apis.createApi", { name: "processes" });
    const { key, keyId } = await call(0, "keys.createKey", { apiId, ...fields });
    return { key: key as string, keyId: keyId as string };
  };

  test("[verify §11] exactly 20 of 50 parallel verifications of a key with 20 credits are VALID, in each of ten rounds", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { key, keyId } = await createKey({ credits: { remaining: 20 } });
      const verified = await Promise.all(Array.from({ length: 50 }, (_, n) => call(n, "keys.verifyKey", { key })));
      const left = verified.flatMap(({ code, credits }) => (code === "VALID" ? [credits as number] : []));
      expect(left.sort((a, b) => b - a)).toEqual(Array.from({ length: 20 }, (_, i) => 19 - i));
      expect(verified.filter(({ code }) => code === "USAGE_EXCEEDED").length).toBe(30);
      expect(await call(1, "keys.getKey", { keyId })).toMatchObject({ credits: { remaining: 0 } });
    }
  });

  test("[ratelimit §3] exactly 10 of 50 parallel checks pass a limit of 10, in each of ten rounds", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const body = { namespace: `round ${round}`, identifier: "user", limit: 10, duration: MONTH };
      const checked = await Promise.all(Array.from({ length: 50 }, (_, n) => call(n, "ratelimit.limit", body)));
      expect(checked.filter(({ success }) => success).length).toBe(10);
    }
  });

  test("[verify §11] exactly 15 of 60 parallel verifications under a limit of 15 are VALID, and only those spend credits", async () => {
    const limit = { name: "requests", limit: 15, duration: MONTH, autoApply: true };
    const { key, keyId } = await createKey({ credits: { remaining: 100 }, ratelimits: [limit] });
    const verified = await Promise.all(Array.from({ length: 60 }, (_, n) => call(n, "keys.verifyKey", { key })));
    expect(verified.filter(({ code }) => code === "VALID").length).toBe(15);
    expect(await call(0, "keys.getKey", { keyId })).toMatchObject({ credits: { remaining: 85 } });
  });

  test("[verify §12] every process sees another's changes within seconds", async () => {
    const { key, keyId } = await createKey({});
    for (const n of edges.keys()) expect((await call(n, "keys.verifyKey", { key })).code).toBe("VALID");
    await call(0, "keys.updateKey", { keyId, enabled: false });
    for (const n of edges.keys()) {
      await vi.waitFor(async () => expect((await call(n, "keys.verifyKey", { key })).code).toBe("DISABLED"), { timeout: 10_000 });
    }
  });
});
