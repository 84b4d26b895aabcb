// @same-on-every-engine
import { afterAll, beforeAll, expect, test } from "vitest";
import { embeddedAnalytics } from "../support/analytics.ts";
import { type Api, dataOf, startApi } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { eventually } from "../support/eventually.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlpReceiver.ts";
import { engines } from "../support/stores.ts";

const [engine] = engines;
const { env, remove } = embeddedAnalytics();
let receiver: OtlpReceiver;
let api: Api;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: "always_on" };
  api = engine ? await startApi(engine, { env: { ...env, ...traced } }) : expect.unreachable();
});
afterAll(async () => {
  await api.close();
  await engine?.close();
  await receiver.close();
  remove();
});

const data = async (procedure: string, body: unknown) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));

test("an insert of events is a trace of its own, a query is a child of its call, and neither shows SQL or values", async () => {
  const { apiId } = await data("apis.createApi", { name: "events" });
  const { key } = await data("keys.createKey", { apiId, externalId: "canary7f3" });
  await data("keys.verifyKey", { key });
  const query = "SELECT count() AS n FROM key_verifications_v1 WHERE external_id = 'canary7f3'";
  await eventually(async () => expect(await data("analytics.getVerifications", { query })).toEqual([{ n: 1 }]));
  await api.close();
  const spans = receiver.spans();
  const ofAnalytics = spans.filter(({ attributes }) => attributes["db.system.name"] === "clickhouse");
  const inserts = ofAnalytics.filter(({ attributes }) => attributes["db.operation.name"] === "INSERT");
  expect(inserts).toMatchObject([
    {
      name: "INSERT key_verifications",
      parentSpanId: "",
      kind: 3,
      isError: false,
      attributes: { "db.collection.name": "key_verifications" },
    },
  ]);
  const calls = new Set(spans.filter(({ name }) => name === "POST /v2/analytics.getVerifications").map(({ spanId }) => spanId));
  const selects = ofAnalytics.filter(({ name }) => name === "SELECT");
  expect(selects.length).toBe(calls.size);
  expect(new Set(selects.map(({ parentSpanId }) => parentSpanId))).toEqual(calls);
  expect(Buffer.concat(receiver.bodies).includes("canary7f3")).toBe(false);
});
