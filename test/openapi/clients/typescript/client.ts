// A client whose types openapi-typescript makes of openapi.json. It is compiled, and run against a service: what it prints is
// the code of a verification and the type of an error.
import createClient from "openapi-fetch";
import type { components, paths } from "./gen/v2.js";

declare const process: { readonly env: Readonly<Record<string, string>>; readonly stdout: { write: (text: string) => void } };
const { SERVICE_URL = "", ROOT_KEY = "" } = process.env;

const client = createClient<paths>({ baseUrl: SERVICE_URL, headers: { Authorization: `Bearer ${ROOT_KEY}` } });

const created = await client.POST("/v2/apis.createApi", { body: { name: "typescript" } });
if (created.error) throw new Error(created.error.error.detail);
const { apiId } = created.data.data;

const issued = await client.POST("/v2/keys.createKey", {
  params: { header: { "Idempotency-Key": "of-the-test" } },
  body: { apiId, credits: { remaining: 10, refill: { interval: "monthly", amount: 10, refillDay: 1 } }, meta: { plan: "pro" } },
});
const { keyId, key } = issued.data?.data ?? { keyId: "", key: "" };

// Null is another thing than leaving out, and the types say where it is allowed.
await client.POST("/v2/keys.updateKey", { body: { keyId, name: null, expires: null } });
// @ts-expect-error a key is enabled or not
await client.POST("/v2/keys.updateKey", { body: { keyId, enabled: null } });
// @ts-expect-error keyId is missing
await client.POST("/v2/keys.getKey", { body: {} });

const verified = await client.POST("/v2/keys.verifyKey", { body: { key, credits: { cost: 3 } } });
const code: components["schemas"]["VerifyKeyData"]["code"] | undefined = verified.data?.data.code;
const credits: number | undefined = verified.data?.data.credits;

const missing = await client.POST("/v2/keys.getKey", { body: { keyId: "key_nothing" } });
const limits = await client.POST("/v2/ratelimit.multiLimit", {
  body: [{ namespace: "openapi", identifier: "user_1", limit: 1, duration: 60_000 }],
});
process.stdout.write(
  JSON.stringify({
    code,
    credits,
    type: missing.error?.error.type.split("/errors/")[1],
    passed: limits.data?.data.passed,
    etag: (await client.POST("/v2/keys.getKey", { body: { keyId } })).response.headers.has("etag"),
  }),
);
