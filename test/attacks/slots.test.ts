// @same-on-every-engine
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { interceptStore } from "../../bench/harness/interceptStore.ts";
import { type Api, dataOf, expectError, startApi } from "../support/api.ts";
import { type HttpAnswer, request } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { engines } from "../support/stores.ts";

const MAX_IN_FLIGHT = 6;

describe.each(engines)("the slots for calls in flight on $name", (engine) => {
  let api: Api;
  /** Holds no permission. */
  let useless: string;
  /** Inserts wait for it. */
  let gate: Promise<void> | undefined;
  const sessions: ClientHttp2Session[] = [];

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), async (operation, { collection, name }) => {
      if (collection === "apis" && name === "insertOne") await gate;
      return operation();
    });
    api = await startApi(engine, { store, env: { MAX_IN_FLIGHT: String(MAX_IN_FLIGHT), TRUSTED_PROXIES: "127.0.0.1" } });
    useless = await api.createRootKey({ permissions: [] });
    await createApi(useless);
  });
  afterEach(() => {
    gate = undefined;
    for (const session of sessions.splice(0)) session.destroy();
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const inFlight = async (): Promise<number> =>
    Number(/^latchkey_calls_in_flight\S* (\d+)$/m.exec(await (await fetch(`${api.adminUrl}/metrics`)).text())?.[1]);
  const createApi = (rootKey: string, address?: string): Promise<HttpAnswer> =>
    request(api.url, "apis.createApi", {
      rootKey,
      body: { name: "payments" },
      headers: { "content-type": "application/json", "x-forwarded-for": address },
    });

  test.each([
    ["/v2", "/v2/apis.createApi", "application/json"],
    ["gRPC", "/latchkey.v2.ApisService/CreateApi", "application/grpc"],
    ["Connect", "/latchkey.v2.ApisService/CreateApi", "application/json"],
  ])("are not taken by headers without a body (%s)", async (_edge, path, type) => {
    const session = connect(api.url);
    sessions.push(session);
    const streams = Array.from({ length: 5 * MAX_IN_FLIGHT }, () => {
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        "content-type": type,
        te: "trailers",
        authorization: `Bearer ${useless}`,
      });
      stream.on("error", () => undefined);
      return stream;
    });
    await new Promise((resolve) => session.ping(resolve));
    expect(streams.every(({ closed }) => !closed)).toBe(true);
    for (const edge of api.edges) {
      const answers = await Promise.all(
        Array.from({ length: MAX_IN_FLIGHT }, () => edge.call("apis.getApi", { apiId: "api_none" }, api.rootKey)),
      );
      for (const answer of answers) expectError(answer, 404, "unkey/data/api_not_found");
    }
    expect(await inFlight()).toBe(0);
  });

  test("are shared fairly between root keys, and between the addresses of one, once they run out", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const other = await api.createRootKey();
    const waiting = Array.from({ length: MAX_IN_FLIGHT }, () => createApi(api.rootKey, "192.0.2.1"));
    await eventually(async () => expect(await inFlight()).toBe(MAX_IN_FLIGHT));
    expectError(await createApi(api.rootKey, "192.0.2.1"), 503, "unkey/application/service_unavailable");
    // Another address of the same root key gets no share of other root keys either.
    expectError(await createApi(api.rootKey, "198.51.100.7"), 503, "unkey/application/service_unavailable");
    waiting.push(...Array.from({ length: 2 }, () => createApi(other, "192.0.2.1")));
    await eventually(async () => expect(await inFlight()).toBe(MAX_IN_FLIGHT + 2));
    waiting.push(createApi(other, "198.51.100.7"));
    await eventually(async () => expect(await inFlight()).toBe(MAX_IN_FLIGHT + 3));
    expectError(await createApi(other, "192.0.2.1"), 503, "unkey/application/service_unavailable");
    const headers = { "x-forwarded-for": "192.0.2.1" };
    for (const edge of api.edges) {
      expectError(await edge.call("apis.createApi", { name: "payments" }, api.rootKey, { headers }), 503, "service_unavailable");
    }
    resolve();
    for (const answer of await Promise.all(waiting)) expect(dataOf(answer)).toEqual({ apiId: expect.stringMatching(/^api_/) });
    expect(await inFlight()).toBe(0);
  });

  test("refusals are in the metrics", async () => {
    const text = await (await fetch(`${api.adminUrl}/metrics`)).text();
    expect(Number(/^latchkey_capacity_refused_total\{resource="calls"\} (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(0);
  });

  test("connections that end while their bodies are awaited leave nothing behind", async () => {
    const session = connect(api.url);
    for (let i = 0; i < 50; i++) {
      const stream = session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: `Bearer ${useless}` });
      stream.on("error", () => undefined);
      stream.write("{");
    }
    await new Promise((resolve) => session.ping(resolve));
    const taken = async (): Promise<number> =>
      Number(/^latchkey_capacity_taken\{resource="bodies"\} (\d+)$/m.exec(await (await fetch(`${api.adminUrl}/metrics`)).text())?.[1]);
    await eventually(async () => expect(await taken()).toBeGreaterThan(50));
    session.destroy();
    await once(session, "close");
    await eventually(async () => expect(await taken()).toBe(0));
  });
});
