// @same-on-every-engine
import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { interceptStore } from "../../../bench/harness/interceptStore.ts";
import { type Api, dataOf, expectError, startApi } from "../../support/api.ts";
import { type HttpAnswer, request } from "../../support/envelope.ts";
import { eventually } from "../../support/eventually.ts";
import { engines } from "../../support/stores.ts";

const MAX_IN_FLIGHT = 5;

describe.each(engines)("[protocol §9] more calls than MAX_IN_FLIGHT on $name", (engine) => {
  let api: Api;
  /** Inserts wait for it. */
  let gate: Promise<void> | undefined;

  beforeAll(async () => {
    const store = interceptStore(await engine.open(), async (operation, { collection, name }) => {
      if (collection === "apis" && name === "insertOne") await gate;
      return operation();
    });
    api = await startApi(engine, { store, env: { MAX_IN_FLIGHT: String(MAX_IN_FLIGHT) } });
  });
  beforeEach(() => {
    gate = undefined;
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const createApi = (): Promise<HttpAnswer> => request(api.url, "apis.createApi", { rootKey: api.rootKey, body: { name: "payments" } });
  const inFlight = async (): Promise<string | undefined> =>
    /^latchkey_calls_in_flight\S* (\d+)$/m.exec(await (await fetch(`${api.adminUrl}/metrics`)).text())?.[1];

  test("are answered 503 at once, without Retry-After, on every edge, and nothing is lost of those before", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const waiting = Array.from({ length: MAX_IN_FLIGHT }, createApi);
    await eventually(async () => expect(await inFlight()).toBe(String(MAX_IN_FLIGHT)));
    for (const edge of api.edges) {
      const refused = await edge.call("apis.createApi", { name: "refused" }, api.rootKey);
      expectError(refused, 503, "unkey/application/service_unavailable");
    }
    const { headers } = await createApi();
    expect(headers.get("retry-after")).toBeNull();
    resolve();
    for (const answer of await Promise.all(waiting)) expect(dataOf(answer)).toEqual({ apiId: expect.stringMatching(/^api_/) });
    expect(dataOf(await createApi())).toEqual({ apiId: expect.stringMatching(/^api_/) });
    expect(await inFlight()).toBe("0");
  });

  test("a call that fails, that has a wrong credential, or whose body breaks off makes room again", async () => {
    for (let i = 0; i < 3 * MAX_IN_FLIGHT; i++) {
      for (const edge of api.edges) {
        await edge.call("apis.getApi", { apiId: "api_missing" }, api.rootKey);
        await edge.call("apis.getApi", { apiId: "api_missing" }, "wrong");
      }
      const { hostname, port } = new URL(api.url);
      const socket = connect(Number(port), hostname);
      await once(socket, "connect");
      socket.write(
        `POST /v2/apis.createApi HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.rootKey}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      socket.destroy();
    }
    await eventually(async () => expect(await inFlight()).toBe("0"));
    expect(dataOf(await createApi())).toEqual({ apiId: expect.stringMatching(/^api_/) });
  });
});
