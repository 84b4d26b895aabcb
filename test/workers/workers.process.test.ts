import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";
import { runLatchkey, type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";
import {
  type Caller,
  createCaller,
  createPlacedCallers,
  isRunning,
  linesOf,
  type PlacedCaller,
  workersOf,
} from "./support/workerProcesses.ts";

/** Sums of a metric's samples that have all of these labels. */
const counted = async ({ adminUrl }: ServiceProcess, name: string, label = ""): Promise<number> => {
  const page = await (await fetch(`${adminUrl}/metrics`)).text();
  expect(page.length).toBeLessThan(100 * 1024);
  const lines = page.split("\n").filter((line) => line.startsWith(name) && line.includes(label));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
};

const verified = (service: ServiceProcess): Promise<number> => counted(service, "latchkey_verifications_total", '"VALID"');

const server = process.env.MONGODB_URL;

describe.runIf(server !== undefined)("a service with two workers", () => {
  let env: Record<string, string>;
  let rootKey: string;
  beforeAll(async () => {
    env = { MONGODB_URL: freshMongoUrl(server ?? ""), WORKERS: "2" };
    rootKey = await createRootKeyOn(env);
  });
  afterAll(() => dropMongoDatabase(env.MONGODB_URL ?? ""));
  const start = (more: Record<string, string> = {}): Promise<ServiceProcess> => startService({ env: { ...env, ...more } });

  const callerOf = (service: ServiceProcess): Caller => {
    const caller = createCaller(service, rootKey);
    onTestFinished(() => caller[Symbol.dispose]());
    return caller;
  };

  const callersOf = async (service: ServiceProcess, count: number): Promise<PlacedCaller[]> => {
    const callers = await createPlacedCallers(service, rootKey, count);
    onTestFinished(() => {
      for (const caller of callers) caller[Symbol.dispose]();
    });
    return callers;
  };

  describe("that runs", () => {
    let service: ServiceProcess;
    beforeAll(async () => {
      service = await start({ LOG_LEVEL: "debug" });
    });
    afterAll(() => service[Symbol.asyncDispose]());

    const createKey = async (fields: object): Promise<{ readonly key: string; readonly keyId: string }> => {
      const { call } = callerOf(service);
      const { data } = await call("apis.createApi", { name: "workers" });
      const created = await call("keys.createKey", { apiId: data.apiId, ...fields });
      return created.data as { key: string; keyId: string };
    };

    test("starts once for its user, with both workers behind one port, each with its name in the log", async () => {
      expect(service.output.stdout.match(/ serves /g)).toHaveLength(1);
      expect(linesOf(service).filter(({ msg }) => msg === "service started")).toEqual([
        expect.objectContaining({ url: service.url, adminUrl: service.adminUrl }),
      ]);
      const opened = linesOf(service).filter(({ msg }) => msg === "store opened");
      expect(opened.map(({ worker }) => worker).sort()).toEqual([1, 2]);
      const callers = await callersOf(service, 8);
      expect(new Set(callers.map(({ worker }) => worker))).toEqual(new Set([1, 2]));
      const { data } = await callerOf(service).call("nodes.listNodes", {});
      expect(data).toHaveLength(2);
      for (const path of ["/livez", "/readyz"]) expect((await fetch(service.adminUrl + path)).status).toBe(200);
      expect(await counted(service, "latchkey_workers", '"ready"')).toBe(2);
      expect(await counted(service, "latchkey_capacity_taken", '"connections"')).toBeGreaterThanOrEqual(8);
      expect(await counted(service, "latchkey_build_info")).toBe(1);
      expect(await counted(service, "latchkey_cache_limit_bytes")).toBe(256 * 1024 * 1024);
    });

    test("a key that is disabled on one worker is disabled on the other, whichever had it in memory", async () => {
      const callers = await callersOf(service, 8);
      const on = (worker: number) => callers.find((caller) => caller.worker === worker) as (typeof callers)[number];
      for (const [here, there] of [
        [on(1), on(2)],
        [on(2), on(1)],
      ] as const) {
        const { key, keyId } = await createKey({});
        for (const { call } of callers) expect((await call("keys.verifyKey", { key })).data.code).toBe("VALID");
        await here.call("keys.updateKey", { keyId, enabled: false });
        expect((await here.call("keys.verifyKey", { key })).data.code).toBe("DISABLED");
        await expect.poll(async () => (await there.call("keys.verifyKey", { key })).data.code, { timeout: 10_000 }).toBe("DISABLED");
      }
    });

    test("counters of calls are summed over the workers", async () => {
      const { key } = await createKey({});
      const before = await verified(service);
      for (const { call } of await callersOf(service, 8)) await call("keys.verifyKey", { key });
      expect(await verified(service)).toBe(before + 8);
    });

    test("kill -9 of a worker ends its connections and no other; credits stay exact, no counter goes back, and another one takes its place", async () => {
      const { key, keyId } = await createKey({ credits: { remaining: 100_000 } });
      const callers = await callersOf(service, 8);
      const pid = workersOf(service).get(1) as number;
      let spent = 0;
      let isOver = false;
      const broken: { worker: number; wasKnown: boolean }[] = [];
      const spend = async ({ call, worker }: (typeof callers)[number]): Promise<void> => {
        while (!isOver) {
          const wasKnown = service.output.stderr.includes('"msg":"worker ended"');
          try {
            expect((await call("keys.verifyKey", { key })).data.code).toBe("VALID");
            spent++;
          } catch (error) {
            if ((error as { code?: string }).code === undefined) throw error;
            broken.push({ worker, wasKnown });
          }
          // Until then a call has to be on its way at every moment; the next worker takes seconds to start.
          if (wasKnown) await sleep(20);
        }
      };
      const spending = callers.map(spend);
      await expect.poll(() => spent).toBeGreaterThan(100);
      const before = await verified(service);
      process.kill(pid, "SIGKILL");
      await expect.poll(() => service.output.stderr, { timeout: 30_000 }).toContain('"worker":1,"msg":"worker back"');
      expect(await verified(service)).toBeGreaterThanOrEqual(before);
      isOver = true;
      await Promise.all(spending);

      expect(new Set(broken.map(({ worker }) => worker))).toEqual(new Set([1]));
      // Until the primary has heard of the end it may hand the dead worker a caller that comes back.
      expect(broken.filter(({ wasKnown }) => wasKnown).length).toBeLessThanOrEqual(callers.filter(({ worker }) => worker === 1).length);
      const { data } = await callerOf(service).call("keys.getKey", { keyId });
      const gone = 100_000 - (data.credits as { remaining: number }).remaining;
      expect(gone).toBeGreaterThanOrEqual(spent);
      expect(gone).toBeLessThanOrEqual(spent + broken.length);
      expect(linesOf(service).filter(({ msg }) => msg === "worker ended")).toEqual([expect.objectContaining({ worker: 1, by: "SIGKILL" })]);
      expect(await counted(service, "latchkey_worker_deaths_total")).toBe(1);
      expect(await counted(service, "latchkey_workers", '"ready"')).toBe(2);
      expect(workersOf(service).get(1)).not.toBe(pid);
      expect(new Set((await callersOf(service, 8)).map(({ worker }) => worker))).toEqual(new Set([1, 2]));
    });

    test("SIGTERM under load lets every call be answered, and ends all with 0", async () => {
      const { key } = await createKey({});
      const callers = await callersOf(service, 8);
      const workers = [...workersOf(service).values()];
      let answered = 0;
      const load = callers.map(async ({ call }) => {
        while (!(await call("keys.verifyKey", { key })).isLast) answered++;
      });
      await expect.poll(() => answered).toBeGreaterThan(100);
      expect(await service.stop()).toBe(0);
      await Promise.all(load);
      expect(workers.filter(isRunning)).toEqual([]);
      expect(linesOf(service).filter(({ msg }) => msg === "service stopped")).toHaveLength(1);
    });
  });

  test("whose primary is killed leaves no worker behind", async () => {
    await using service = await start();
    const workers = [...workersOf(service).values()];
    expect(workers.filter(isRunning)).toHaveLength(2);
    service.kill("SIGKILL");
    await expect.poll(() => workers.filter(isRunning)).toEqual([]);
  });

  test("a second signal ends a stop that waits for a call at once, with 1 and all workers", async () => {
    await using service = await start();
    const workers = [...workersOf(service).values()];
    const socket = connect(Number(new URL(service.url).port), "127.0.0.1").on("error", () => undefined);
    socket.write(
      `POST /v2/apis.createApi HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${rootKey}\r\ncontent-type: application/json\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\r\n`,
    );
    expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 100 /);
    socket.write("{");
    service.kill("SIGTERM");
    await expect.poll(() => service.output.stderr).toContain('"msg":"service stopping"');
    expect((await fetch(`${service.adminUrl}/readyz`)).status).toBe(503);
    service.kill("SIGTERM");
    expect(await service.exited).toBe(1);
    await expect.poll(() => workers.filter(isRunning)).toEqual([]);
    socket.destroy();
  });

  test("that cannot start says why once, as one process does", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    onTestFinished(() => void taken.close());
    const { port } = taken.address() as AddressInfo;
    const { code, stdout, stderr } = await runLatchkey(["serve"], { ...env, PORT: String(port), ADMIN_PORT: "0" });
    expect([code, stdout]).toEqual([1, ""]);
    const told = stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
    const sentence = `latchkey: cannot listen on 127.0.0.1 port ${port}: another process listens there already (HOST, PORT): `;
    expect(told).toEqual([expect.stringContaining(sentence)]);
  });
});

test("a setting that only one process supports is refused with 2, and nothing is started", async () => {
  const withFile = await runLatchkey(["serve"], { WORKERS: "2" });
  const withEngine = await runLatchkeyHere(["serve"], { MONGODB_URL: "mongodb://127.0.0.1:1/", ANALYTICS: "embedded", WORKERS: "2" });
  for (const [{ code, stdout, stderr }, sentence] of [
    [withFile, "WORKERS: the embedded store serves one process only: set MONGODB_URL, or WORKERS=1"],
    [withEngine, "the embedded analytics engine serves one process only: set CLICKHOUSE_URL, or ANALYTICS=off, or WORKERS=1"],
  ] as const) {
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(sentence);
  }
});
