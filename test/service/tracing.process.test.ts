import { afterAll, beforeAll, expect, test } from "vitest";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { dataOf } from "../support/api.ts";
import { request } from "../support/envelope.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlpReceiver.ts";

/** Names each module of OpenTelemetry on standard error as it is resolved. */
const watch = `
  import { registerHooks } from "node:module";
  import { writeSync } from "node:fs";
  registerHooks({ resolve: (specifier, context, next) => {
    const found = next(specifier, context);
    if (found.url.includes("@opentelemetry")) writeSync(2, "loads " + specifier + "\\n");
    return found;
  } });
`;
const watched = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(watch)}` };
const loaded = /^loads @opentelemetry\//m;

let receiver: OtlpReceiver;
beforeAll(async () => {
  receiver = await startOtlpReceiver();
});
afterAll(() => receiver.close());

test("without a collector nothing of OpenTelemetry is loaded, whatever else is set", async () => {
  await using service = await startService({ env: { ...watched, OTEL_TRACES_SAMPLER: "always_on", OTEL_SERVICE_NAME: "keys" } });
  const headers = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  dataOf(await request(service.url, "apis.createApi", { rootKey: await service.rootKey(), headers, body: { name: "untraced" } }));
  expect(await service.stop()).toBe(0);
  expect(service.output.stderr).not.toMatch(loaded);
});

test("SIGTERM sends what waits", async () => {
  const env = { ...watched, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: "always_on" };
  await using service = await startService({ env });
  expect(service.output.stderr).toMatch(loaded);
  const { body } = await request(service.url, "apis.createApi", { rootKey: await service.rootKey(), body: { name: "traced" } });
  expect(await service.stop()).toBe(0);
  expect(receiver.spans().find(({ kind }) => kind === 2)?.attributes["latchkey.request_id"]).toBe(body.meta.requestId);
});
