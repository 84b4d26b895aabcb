import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";
import { createPlacedCallers, type PlacedCaller, workersOf } from "./support/workerProcesses.ts";

const ENOUGH = 40;
/** More than calls are made before the service is killed, and few enough to be used up after it. */
const LIMIT = 300;
const DAY_MS = 86_400_000;

const server = process.env.MONGODB_URL;

describe.runIf(server !== undefined)("two workers", () => {
  let env: Record<string, string>;
  let rootKey: string;
  beforeAll(async () => {
    env = { MONGODB_URL: freshMongoUrl(server ?? "") };
    rootKey = await createRootKeyOn(env);
  });
  afterAll(() => dropMongoDatabase(env.MONGODB_URL ?? ""));

  const start = async (): Promise<ServiceProcess> => {
    const service = await startService({ env: { ...env, WORKERS: "2", LOG_LEVEL: "debug" } });
    onTestFinished(() => service[Symbol.asyncDispose]());
    return service;
  };
  const callersOf = async (service: ServiceProcess): Promise<PlacedCaller[]> => {
    const callers = await createPlacedCallers(service, rootKey, 8);
    onTestFinished(() => {
      for (const caller of callers) caller[Symbol.dispose]();
    });
    expect(new Set(callers.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
    return callers;
  };
  /** Has each caller go on until the service is gone. */
  const untilGone = (callers: readonly PlacedCaller[], work: (caller: PlacedCaller) => Promise<unknown>): Promise<unknown> =>
    Promise.all(
      callers.map(async (caller) => {
        try {
          for (;;) await work(caller);
        } catch (error) {
          if ((error as { code?: string }).code === undefined) throw error;
        }
      }),
    );

  test("kill -9 of the process that was started ends the others, and loses nothing that was acknowledged", async () => {
    const service = await start();
    const callers = await callersOf(service);
    const [{ call }] = callers as [PlacedCaller];
    const { data: api } = await call("apis.createApi", { name: "crash" });
    const { data: counted } = await call("keys.createKey", { apiId: api.apiId, credits: { remaining: 100_000 } });
    const made: unknown[] = [];
    const tried = { spends: 0, limits: 0 };
    const done = { spends: 0, limits: 0 };
    const limit = async (caller: PlacedCaller): Promise<boolean> => {
      const { data } = await caller.call("ratelimit.limit", { namespace: "crash", identifier: "one", limit: LIMIT, duration: DAY_MS });
      return data.success as boolean;
    };
    const gone = untilGone(callers, async (caller) => {
      made.push((await caller.call("keys.createKey", { apiId: api.apiId })).data.keyId);
      tried.spends++;
      expect((await caller.call("keys.verifyKey", { key: counted.key })).data.code).toBe("VALID");
      done.spends++;
      tried.limits++;
      expect(await limit(caller)).toBe(true);
      done.limits++;
    });
    await expect.poll(() => done.limits).toBeGreaterThan(ENOUGH);
    service.kill("SIGKILL");
    await gone;

    const again = await start();
    const later = await callersOf(again);
    const [{ call: ask }] = later as [PlacedCaller];
    const found = await Promise.all(made.map((keyId, i) => (later[i % later.length] as PlacedCaller).call("keys.getKey", { keyId })));
    expect(found.map(({ data }) => data.keyId)).toEqual(made);
    const { data } = await ask("keys.getKey", { keyId: counted.keyId });
    const spent = 100_000 - (data.credits as { remaining: number }).remaining;
    expect(spent).toBeGreaterThanOrEqual(done.spends);
    expect(spent).toBeLessThanOrEqual(tried.spends);
    let admitted = 0;
    await Promise.all(
      later.map(async (caller) => {
        while (await limit(caller)) admitted++;
      }),
    );
    expect(done.limits + admitted).toBeLessThanOrEqual(LIMIT);
    expect(admitted).toBeGreaterThan(0);
  });

  test("a limit is exact over both workers, and what one had acknowledged holds on the other when it dies in the same instant", async () => {
    const service = await start();
    const callers = await callersOf(service);
    let passed = 0;
    await Promise.all(
      callers.map(async ({ call }) => {
        const ask = () => call("ratelimit.limit", { namespace: "exact", identifier: "one", limit: 500, duration: DAY_MS });
        while ((await ask()).data.success) passed++;
      }),
    );
    expect(passed).toBe(500);

    const on = (worker: number) => callers.find((caller) => caller.worker === worker) as PlacedCaller;
    const { data: api } = await on(2).call("apis.createApi", { name: "revoked" });
    const { data } = await on(2).call("keys.createKey", { apiId: api.apiId });
    const verify = async (caller: PlacedCaller) => (await caller.call("keys.verifyKey", { key: data.key })).data.code;
    for (const caller of callers) expect(await verify(caller)).toBe("VALID");
    const pid = workersOf(service).get(1) as number;
    await on(1).call("keys.updateKey", { keyId: data.keyId, enabled: false });
    process.kill(pid, "SIGKILL");
    // Sooner than memory goes out of use by itself.
    await expect.poll(() => verify(on(2)), { timeout: 10_000 }).toBe("DISABLED");
  });

  test("kill -9 of a worker closes a connection that was on its way to it: its client does not wait for ever", async () => {
    const service = await start();
    const [[, hanging = 0] = []] = workersOf(service);
    process.kill(hanging, "SIGSTOP");
    const { hostname, port } = new URL(service.url);
    // In turns, so that one of them goes to the worker that hangs, which never says that it has it.
    const ends = Array.from({ length: 4 }, () => {
      const socket = connect(Number(port), hostname, () => socket.write("GET / HTTP/1.1\r\nHost: latchkey\r\nConnection: close\r\n\r\n"));
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => undefined).resume();
      return new Promise((resolve) => socket.once("close", resolve));
    });
    await Promise.race(ends);
    process.kill(hanging, "SIGKILL");
    await Promise.all(ends);
  });
});
