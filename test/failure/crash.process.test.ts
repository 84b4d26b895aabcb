import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveHere } from "../../bench/harness/commandLine.ts";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { type Edge, v2Edge } from "../../bench/harness/v2Edge.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openEmbeddedStore } from "../../src/platform/storage/embedded/openEmbeddedStore.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";
import { sized } from "../support/sized.ts";
import { createWorkload, expectAudited, type MaybeCall } from "./workload.ts";

const MONTH = 2_592_000_000;
const LOOPS = 6;

describe("the service after kill -9, on the embedded store", () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "latchkey-crash-"));
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  const caller =
    (edge: Edge, rootKey: string): MaybeCall =>
    async (procedure, body) => {
      try {
        return await edge.call(procedure, body, rootKey);
      } catch {
        // The connection ended before the answer.
        return undefined;
      }
    };
  const dataOf = async (call: MaybeCall, procedure: string, body: unknown): Promise<Record<string, unknown>> =>
    (await call(procedure, body))?.body.data as Record<string, unknown>;

  /** Starts the service in a process, and ends it with SIGKILL after `use` unless that did. */
  const killing = async (use: (call: MaybeCall, service: ServiceProcess) => Promise<void>): Promise<void> => {
    await using service = await startService({ dataDir });
    const edge = v2Edge(service.url);
    await use(caller(edge, await service.rootKey()), service);
  };

  /** Starts the service in this process, and stops it after `use`. */
  const running = async (use: (call: MaybeCall) => Promise<void>): Promise<void> => {
    await using service = await serveHere(dataDir);
    await use(caller(v2Edge(service.url), await service.rootKey()));
    expect(await service.stop()).toBe(0);
  };

  const looking = async (look: (store: Store) => Promise<void>): Promise<void> => {
    const store = openEmbeddedStore({ directory: dataDir, clock: systemClock, mode: "tool" });
    try {
      await store.prepare();
      await look(store);
    } finally {
      await store.close();
    }
  };

  test("loses no acknowledged write, leaves nothing half done, and has an event for exactly each change", async () => {
    // During the first calls, during the first moves of events, and later.
    const moments = sized([250], [3, 40, 250, 600]);
    for (const [round, kills] of moments.entries()) {
      let acknowledgements = 0;
      let kept: ReturnType<typeof createWorkload>["expectKept"] | undefined;
      await killing(async (call, service) => {
        const { apiId } = await dataOf(call, "apis.createApi", { name: `round ${round}` });
        const workload = createWorkload(call, apiId as string, `round${round}`, LOOPS, () => {
          if (++acknowledgements === kills) service.kill("SIGKILL");
        });
        await workload.run();
        expect(await service.exited).toBeNull();
        kept = workload.expectKept;
      });
      expect(acknowledgements).toBeGreaterThanOrEqual(kills);
      await looking(expectAudited);
      // A recovered node is killed once more, except in the last round.
      const recovered = round < moments.length - 1 ? killing : running;
      await recovered(async (call) => {
        await looking(async (store) => kept?.(store, (key) => dataOf(call, "keys.verifyKey", { key })));
        // Pending events are moved now, and the chain continues where it ended.
        await looking(expectAudited);
      });
    }
  });

  test("[verify §11] no acknowledged spend of credits is lost, and no credit is spent without a call", async () => {
    const { key, keyId, spent, unanswered } = await (async () => {
      const result = { key: "", keyId: "", spent: 0, unanswered: 0 };
      await killing(async (call, service) => {
        const { apiId } = await dataOf(call, "apis.createApi", { name: "credits" });
        Object.assign(result, await dataOf(call, "keys.createKey", { apiId, credits: { remaining: 100_000 } }));
        const spend = async (): Promise<void> => {
          for (;;) {
            const answer = await call("keys.verifyKey", { key: result.key });
            if (answer?.status !== 200) break;
            if (++result.spent === 400) service.kill("SIGKILL");
          }
          result.unanswered++;
        };
        await Promise.all(Array.from({ length: 16 }, spend));
        await service.exited;
      });
      return result;
    })();
    await running(async (call) => {
      const { credits } = await dataOf(call, "keys.getKey", { keyId });
      const gone = 100_000 - (credits as { remaining: number }).remaining;
      expect(gone).toBeGreaterThanOrEqual(spent);
      expect(gone).toBeLessThanOrEqual(spent + unanswered);
      expect(await dataOf(call, "keys.verifyKey", { key })).toMatchObject({ code: "VALID", credits: 100_000 - gone - 1 });
    });
  });

  test("limits survive: before and after it no more pass than the limit, and hardly fewer", async () => {
    const limits = [
      { namespace: "crash", identifier: "small", limit: 10, duration: MONTH },
      { namespace: "crash", identifier: "large", limit: 600, duration: MONTH },
    ];
    const passed = limits.map(() => 0);
    await killing(async (call, service) => {
      const use = async (i: number, until: number): Promise<void> => {
        while ((passed[i] ?? 0) < until) {
          const answer = await call("ratelimit.limit", limits[i]);
          if ((answer?.body.data as { success?: boolean } | undefined)?.success) passed[i] = (passed[i] ?? 0) + 1;
        }
      };
      await use(0, 6);
      await use(1, 200);
      service.kill("SIGKILL");
      await service.exited;
    });
    await running(async (call) => {
      for (const [i, body] of limits.entries()) {
        while ((await dataOf(call, "ratelimit.limit", body)).success) passed[i] = (passed[i] ?? 0) + 1;
      }
    });
    expect(passed[0]).toBe(10);
    // The unspent budget of the dead process is lost: at most a twentieth of the remaining limit.
    expect(passed[1]).toBeLessThanOrEqual(600);
    expect(passed[1]).toBeGreaterThanOrEqual(570);
  });

  test("limits survive a stop exactly: all that was held is given back", async () => {
    const bodies = Array.from({ length: 40 }, (_, i) => ({ namespace: "stop", identifier: `user ${i}`, limit: 1_000, duration: MONTH }));
    await running(async (call) => {
      for (const [i, body] of bodies.entries()) for (let spent = 0; spent <= i; spent++) await dataOf(call, "ratelimit.limit", body);
    });
    await running(async (call) => {
      for (const [i, body] of bodies.entries()) {
        expect(await dataOf(call, "ratelimit.limit", { ...body, cost: 0 })).toMatchObject({ remaining: 1_000 - i - 1 });
      }
    });
  });
});
