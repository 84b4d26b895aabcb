import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../../bench/harness/commandLine.ts";
import { type ServerProcess, startCounterServer } from "../../../bench/harness/counterServers.ts";
import { createSettableClock } from "../../../src/platform/base/clock.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { describeOnCounterServer } from "../../support/counterServers.ts";
import { eventually } from "../../support/eventually.ts";
import { engines } from "../../support/stores.ts";

const HOUR = 3_600_000;

for (const engine of engines) {
  describeOnCounterServer(`a service that counts on the server of COUNTERS_URL, its state on ${engine.name}`, () => {
    let server: ServerProcess;
    let api: Api;
    const lines: string[] = [];
    beforeAll(async () => {
      server = await startCounterServer({
        settings: ["--requirepass", "hunter2", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"],
      });
      const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
      api = await startApi(engine, { env: { COUNTERS_URL: `redis://:hunter2@127.0.0.1:${server.port}` }, log });
    });
    afterAll(async () => {
      await api?.close();
      await engine.close();
      await server?.[Symbol.asyncDispose]();
    });

    const call = (procedure: string, body: unknown) => (api.edges[0] as Api["edges"][number]).call(procedure, body, api.rootKey);
    const data = async (procedure: string, body: unknown) => dataOf(await call(procedure, body));
    const limit = (identifier: string, changes: object = {}) =>
      call("ratelimit.limit", { namespace: "calls", identifier, limit: 3, duration: HOUR, ...changes });
    test("ratelimit.limit admits the limit and no more, and the server has the count", async () => {
      const passed: unknown[] = [];
      for (let i = 0; i < 5; i++) passed.push(dataOf(await limit("one")).success);
      expect(passed).toEqual([true, true, true, false, false]);
      expect(dataOf(await limit("one", { cost: 0 }))).toMatchObject({ success: true, remaining: 0 });
      const parallel = await Promise.all(Array.from({ length: 20 }, () => limit("many")));
      expect(parallel.filter((answer) => dataOf(answer).success).length).toBe(3);
    });

    test("ratelimit.multiLimit takes from all of its limits or from none", async () => {
      const entry = (identifier: string, most: number) => ({ namespace: "batches", identifier, limit: most, duration: HOUR });
      expect(await data("ratelimit.multiLimit", [entry("a", 1), entry("b", 5)])).toMatchObject({ passed: true });
      expect(await data("ratelimit.multiLimit", [entry("a", 1), entry("b", 5)])).toMatchObject({ passed: false });
      expect(await data("ratelimit.limit", entry("b", 5))).toMatchObject({ success: true, remaining: 3 });
    });

    test("keys.verifyKey counts the limits of keys there", async () => {
      const { apiId } = await data("apis.createApi", { name: "counted" });
      const { key } = await data("keys.createKey", {
        apiId,
        ratelimits: [{ name: "requests", limit: 2, duration: HOUR, autoApply: true }],
      });
      const codes: unknown[] = [];
      for (let i = 0; i < 3; i++) codes.push((await data("keys.verifyKey", { key })).code);
      expect(codes).toEqual(["VALID", "VALID", "RATE_LIMITED"]);
    });

    test("[management §3] ratelimit.listCounters lists them in order, page by page", async () => {
      const names = Array.from({ length: 25 }, (_, i) => `listed_${String(i).padStart(2, "0")}`);
      await Promise.all(names.toReversed().map((identifier) => limit(identifier, { namespace: "listed" })));
      const found: unknown[] = [];
      let cursor: string | undefined;
      do {
        const { body } = await call("ratelimit.listCounters", { namespace: "listed", limit: 10, ...(cursor && { cursor }) });
        found.push(...(body.data as unknown as { identifier: string; used: number }[]).map(({ identifier }) => identifier));
        cursor = (body as { pagination?: { cursor?: string } }).pagination?.cursor;
      } while (cursor !== undefined);
      expect(found).toEqual(names);
    });

    test("while the server is away keys and the state work, rate limits say that they are degraded, and all is well again by itself", async () => {
      const { apiId } = await data("apis.createApi", { name: "away" });
      const { key } = await data("keys.createKey", { apiId });
      await server.end();
      await eventually(async () => expect((await limit("outage")).body.meta).toMatchObject({ degraded: expect.anything() }));
      expect(dataOf(await limit("other")).success).toBe(true);
      expect((await data("keys.verifyKey", { key })).code).toBe("VALID");
      await data("keys.createKey", { apiId });
      expect((await fetch(`${api.adminUrl}/readyz`)).status).toBe(200);
      const page = await (await fetch(`${api.adminUrl}/metrics`)).text();
      expect(page).toMatch(/^latchkey_counter_server_up 0$/m);
      expect(page).toMatch(/^latchkey_ratelimit_store_down\{policy="allow"\} 1$/m);
      expect(page).toMatch(/^latchkey_store_up\{.*\} 1$/m);
      await server.restart();
      await eventually(async () => expect((await limit("outage")).body.meta).not.toHaveProperty("degraded"));
      expect(await (await fetch(`${api.adminUrl}/metrics`)).text()).toMatch(/^latchkey_counter_server_up 1$/m);
    });

    test("doctor says what the server is, and what is wrong with it", async () => {
      const dataDir = await mkdtemp(join(tmpdir(), "latchkey-doctor-"));
      onTestFinished(() => rm(dataDir, { recursive: true }));
      const look = async (password: string) =>
        runCommand(["doctor"], { DATA_DIR: dataDir, ANALYTICS: "off", COUNTERS_URL: `redis://:${password}@127.0.0.1:${server.port}` });
      const right = await look("hunter2");
      expect(right.printed.join("\n")).toMatch(
        /^ok {4}counter server: (Redis|Valkey) [\d.]+ at 127.0.0.1:\d+ answers, but its maxmemory-policy is allkeys-lru/m,
      );
      expect(right.code).toBe(0);
      const wrong = await look("hunter3");
      expect(wrong.printed.join("\n")).toMatch(/^FAIL {2}counter server: .*cannot be used: it does not know the user or the password/m);
      expect(wrong.code).toBe(1);
      expect([...right.printed, ...wrong.printed].join()).not.toContain("hunter");
    });

    test("the log says where the counters are and what is wrong there, and holds no password", async () => {
      const log = lines.join("");
      for (const text of [
        "rate limits are counted by the server of COUNTERS_URL",
        "counter server away",
        "counter server back",
        "allkeys-lru",
      ]) {
        expect(log).toContain(text);
      }
      expect(log).not.toContain("hunter2");
    });
  });
}

describeOnCounterServer("a service whose counter server is away when it starts", () => {
  const [engine] = engines;
  afterAll(() => engine?.close());

  test("starts, is ready, and counts there as soon as the server is up", async () => {
    const server = await startCounterServer();
    await server.end();
    if (engine === undefined) throw new Error("there is no engine");
    const api = await startApi(engine, { env: { COUNTERS_URL: server.url, RATELIMIT_STORE_DOWN: "deny" } });
    const limit = async () => {
      const [edge] = api.edges;
      return edge?.call("ratelimit.limit", { namespace: "late", identifier: "a", limit: 3, duration: HOUR }, api.rootKey);
    };
    try {
      expect((await fetch(`${api.adminUrl}/readyz`)).status).toBe(200);
      expect((await limit())?.body).toMatchObject({ data: { success: false }, meta: { degraded: expect.anything() } });
      await server.restart();
      await eventually(async () => expect((await limit())?.body.data).toMatchObject({ success: true }));
    } finally {
      await api.close();
      await server[Symbol.asyncDispose]();
    }
  });

  test("does not start with a password that the server does not know", async () => {
    await using server = await startCounterServer({ settings: ["--requirepass", "hunter2"] });
    if (engine === undefined) throw new Error("there is no engine");
    const env = { COUNTERS_URL: `redis://:hunter3@127.0.0.1:${server.port}` };
    await expect(startApi(engine, { env })).rejects.toThrow("it does not know the user or the password of COUNTERS_URL");
  });
});

describeOnCounterServer("a service whose clock tests turn", () => {
  test("counts on the server in the windows of that clock", async () => {
    await using server = await startCounterServer();
    const [engine] = engines;
    if (engine === undefined) throw new Error("there is no engine");
    const testClock = createSettableClock();
    const api = await startApi(engine, { env: { COUNTERS_URL: server.url }, testClock });
    try {
      const call = async (procedure: string, body: unknown) =>
        dataOf(await (api.edges[0] as Api["edges"][number]).call(procedure, body, api.rootKey));
      const limit = async () => (await call("ratelimit.limit", { namespace: "turned", identifier: "a", limit: 2, duration: HOUR })).success;
      testClock.setTime(3_000 * HOUR);
      expect([await limit(), await limit(), await limit()]).toEqual([true, true, false]);
      testClock.setTime(3_003 * HOUR);
      expect(await limit()).toBe(true);
    } finally {
      await api.close();
      await engine.close();
    }
  });
});
