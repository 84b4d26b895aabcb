import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";
import { type Edge, v2Edge } from "../../bench/harness/v2Edge.ts";
import { openMongoStore } from "../../src/platform/storage/mongo/openMongoStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { dataOf, expectError } from "../support/api.ts";
import { createWorkload, expectAudited, type MaybeCall } from "./workload.ts";

/**
 * A command that ends a MongoDB server with SIGKILL if it runs, starts it, and prints its URL on the last line. Its
 * server must be one that no other test uses.
 */
const restartCommand = process.env.LATCHKEY_TEST_MONGODB_RESTART;

const restart = async (): Promise<string> => {
  const { stdout } = await promisify(execFile)("sh", ["-c", restartCommand ?? "false"]);
  return stdout.trim().split("\n").at(-1) ?? "";
};

describe.skipIf(restartCommand === undefined)("a MongoDB server that is killed and started again", () => {
  let url: string;
  let service: ServiceProcess;
  let edge: Edge;
  let rootKey: string;
  beforeAll(async () => {
    url = freshMongoUrl(await restart());
    rootKey = await createRootKeyOn({ MONGODB_URL: url });
    service = await startService({ env: { MONGODB_URL: url } });
    edge = v2Edge(service.url);
  }, 120_000);
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await dropMongoDatabase(url);
  });

  const call = (procedure: string, body: unknown) => edge.call(procedure, body, rootKey);
  const data = async (procedure: string, body: unknown) => dataOf(await call(procedure, body));
  const works = () => vi.waitFor(() => data("apis.createApi", { name: "works" }), { timeout: 60_000, interval: 200 });
  const withStore = async (use: (store: Store) => Promise<void>): Promise<void> => {
    const store = openMongoStore({ url });
    try {
      await use(store);
    } finally {
      await store.close();
    }
  };

  test("the service recovers without a restart of its own, and no acknowledged write is lost", async () => {
    for (let round = 0; round < 3; round++) {
      const { apiId } = await data("apis.createApi", { name: `round ${round}` });
      const warm = (await data("keys.createKey", { apiId })).key as string;
      expect((await data("keys.verifyKey", { key: warm })).code).toBe("VALID");

      let acknowledgements = 0;
      let restarted: Promise<string> | undefined;
      const maybe: MaybeCall = call;
      const workload = createWorkload(maybe, apiId as string, `round${round}`, 6, () => {
        if (++acknowledgements === 60) restarted = restart();
      });
      await workload.run();
      expect(acknowledgements).toBeGreaterThanOrEqual(60);

      let done = false;
      const up = Promise.resolve(restarted).finally(() => {
        done = true;
      });
      while (!done) {
        expect((await fetch(`${service.url}/v2/liveness`)).status).toBe(200);
        const started = performance.now();
        const answer = await call("apis.getApi", { apiId });
        expect(performance.now() - started).toBeLessThan(5_000);
        if (answer.status !== 200) expectError(answer, 503, "unkey/application/service_unavailable");
        // Its API, its root key and itself were read less than 30 seconds ago, or can be read again.
        expect([200, 503]).toContain((await call("keys.verifyKey", { key: warm })).status);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await up;
      await works();

      expect((await data("keys.verifyKey", { key: warm })).code).toBe("VALID");
      await withStore(async (store) => {
        await workload.expectKept(store, (key) => data("keys.verifyKey", { key }));
        await expectAudited(store);
      });
    }
  }, 300_000);

  test("[verify §11] credits that were spent before it stay spent, and none is spent twice", async () => {
    const { apiId } = await data("apis.createApi", { name: "credits" });
    const { key, keyId } = await data("keys.createKey", { apiId, credits: { remaining: 100_000 } });
    let spent = 0;
    let unanswered = 0;
    let restarted: Promise<string> | undefined;
    const spend = async (): Promise<void> => {
      for (;;) {
        const answer = await call("keys.verifyKey", { key });
        if (answer.status !== 200) break;
        if (++spent === 300) restarted = restart();
      }
      unanswered++;
    };
    await Promise.all(Array.from({ length: 16 }, spend));
    await restarted;
    await works();
    const { credits } = await data("keys.getKey", { keyId });
    const gone = 100_000 - (credits as { remaining: number }).remaining;
    expect(gone).toBeGreaterThanOrEqual(spent);
    expect(gone).toBeLessThanOrEqual(spent + unanswered);
  }, 120_000);
});
