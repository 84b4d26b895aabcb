// @same-on-every-engine
import { pino } from "pino";
import { afterAll, describe, expect, test } from "vitest";
import { freePort } from "../../../bench/harness/freePort.ts";
import { createService } from "../../../src/service/createService.ts";
import { type Api, dataOf, startApi, testConfig } from "../../support/api.ts";
import { createObjects } from "../../support/bodies.ts";
import { request } from "../../support/envelope.ts";
import { faultyStore } from "../../support/faultyStore.ts";
import { engines } from "../../support/stores.ts";

describe.each(engines)("the admin port on $name", (engine) => {
  afterAll(() => engine.close());
  const metricsOf = async ({ adminUrl }: Api): Promise<string> => (await fetch(`${adminUrl}/metrics`)).text();
  /** The sum of the series with these labels, 0 when there is none (yet). */
  const seriesOf = (text: string, name: string, labels: string): number =>
    text
      .split("\n")
      .filter((line) => line.startsWith(name) && labels.split(",").every((label) => line.includes(label)))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

  test("is a port of its own: neither serves what the other does", async () => {
    const api = await startApi(engine);
    try {
      for (const path of ["/metrics", "/livez", "/readyz"]) {
        expect([path, await statusOf(api.adminUrl + path), await statusOf(api.url + path)]).toEqual([path, 200, 404]);
      }
      for (const path of ["/v2/liveness", "/v2/apis.createApi", "/latchkey.v2.ApisService/CreateApi"]) {
        expect([path, await statusOf(api.adminUrl + path)]).toEqual([path, 404]);
      }
    } finally {
      await api.close();
    }
  });

  test("an unavailable store shows in metrics, and readiness stays", async () => {
    const store = faultyStore(await engine.open());
    const api = await startApi(engine, { store });
    const away = () => request(api.url, "apis.getApi", { rootKey: api.rootKey, body: { apiId: "api_nothing1" } });
    try {
      expect((await away()).status).toBe(404);
      expect(seriesOf(await metricsOf(api), "latchkey_store_up", engine.name)).toBe(1);
      store.behave("fails");
      expect((await away()).status).toBe(503);
      expect(seriesOf(await metricsOf(api), "latchkey_store_up", engine.name)).toBe(0);
      expect([await statusOf(`${api.adminUrl}/readyz`), await statusOf(`${api.adminUrl}/livez`)]).toEqual([200, 200]);
      store.behave("well");
      await expect.poll(async () => seriesOf(await metricsOf(api), "latchkey_store_up", engine.name), { timeout: 20_000 }).toBe(1);
    } finally {
      store.behave("well");
      await api.close();
    }
  });

  test("calls are counted by procedure and outcome, whatever their edge, verifications by code", async () => {
    const api = await startApi(engine);
    try {
      const { key } = await createObjects(async (procedure, body) =>
        dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body })),
      );
      const before = await metricsOf(api);
      for (const edge of api.edges) {
        dataOf(await edge.call("keys.verifyKey", { key }, api.rootKey));
        dataOf(await edge.call("keys.verifyKey", { key: "unknown" }, api.rootKey));
        await edge.call("keys.verifyKey", {}, api.rootKey);
        await edge.call("keys.verifyKey", { key }, undefined);
      }
      const after = await metricsOf(api);
      const grown = (name: string, labels: string): number => seriesOf(after, name, labels) - seriesOf(before, name, labels);
      const calls = (outcome: string): number =>
        grown("latchkey_procedure_duration_seconds_count", `procedure="keys.verifyKey",outcome="${outcome}"`);
      expect([calls("ok"), calls("invalid_input"), calls("authentication_missing")]).toEqual([10, 5, 5]);
      expect([grown("latchkey_verifications_total", 'code="VALID"'), grown("latchkey_verifications_total", 'code="NOT_FOUND"')]).toEqual([
        5, 5,
      ]);
    } finally {
      await api.close();
    }
  });

  test("calls without a procedure are counted, without a label that a caller could choose", async () => {
    const api = await startApi(engine);
    try {
      for (let i = 0; i < 20; i++) await request(api.url, `/v2/made.up${i}`);
      await request(api.url, "apis.createApi", { method: "GET" });
      const text = await metricsOf(api);
      expect(text).not.toContain("made");
      expect(seriesOf(text, "latchkey_calls_total", 'outcome="procedure_not_found"')).toBe(20);
      expect(seriesOf(text, "latchkey_calls_total", 'outcome="method_not_allowed"')).toBe(1);
    } finally {
      await api.close();
    }
  });

  test("a node that waits for its store is alive and not ready; a stopped one answers nothing", async () => {
    const store = faultyStore(await engine.open());
    let prepared = Promise.withResolvers<void>();
    const slow = { ...store, prepare: () => prepared.promise };
    const adminPort = await freePort();
    const service = await createService(testConfig({ ADMIN_PORT: String(adminPort) }), {
      store: slow,
      log: pino({ level: "silent" }),
      linger: 0,
    });
    const admin = `http://127.0.0.1:${adminPort}`;
    const started = service.start();
    await expect.poll(() => statusOf(`${admin}/livez`).catch(() => 0)).toBe(200);
    expect(await statusOf(`${admin}/readyz`)).toBe(503);
    prepared.resolve();
    prepared = Promise.withResolvers();
    await started;
    expect(await statusOf(`${admin}/readyz`)).toBe(200);
    await service.stop();
    await expect(statusOf(`${admin}/livez`)).rejects.toThrow();
  });

  test("a node that has to stop is not ready first, and serves for SHUTDOWN_DELAY as before", async () => {
    const api = await startApi(engine, { env: { SHUTDOWN_DELAY: "1" } });
    let hasStopped = false;
    const stopped = api.close().then(() => {
      hasStopped = true;
    });
    expect(await statusOf(`${api.adminUrl}/readyz`)).toBe(503);
    const { status, headers } = await fetch(`${api.url}/v2/liveness`);
    expect([status, headers.get("connection"), hasStopped]).toEqual([200, "keep-alive", false]);
    await stopped;
    await expect(statusOf(`${api.url}/v2/liveness`)).rejects.toThrow();
  });
});
