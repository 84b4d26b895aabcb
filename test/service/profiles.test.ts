// @same-on-every-engine
import { afterAll, expect, test } from "vitest";
import { createLog } from "../../src/platform/telemetry/log.ts";
import { dataOf, startApi } from "../support/api.ts";
import { createObjects } from "../support/bodies.ts";
import { request } from "../support/envelope.ts";
import { engines } from "../support/stores.ts";

const [engine] = engines;
if (engine === undefined) throw new Error("there is no store to test on");
afterAll(() => engine.close());

test("a profile of a service at work holds no secret: no root key, no key, no token, nothing that callers send", async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog("info", { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  const token = "an-admin-token-of-a-test";
  const encryptionKey = Buffer.alloc(32, 7).toString("base64");
  const env = { PROFILES: "on", ADMIN_TOKEN: token, ENCRYPTION_KEYS: `k1:${encryptionKey}` };
  const api = await startApi(engine, { log, env });
  try {
    const call = async (procedure: string, body: unknown) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));
    const { key, apiId } = await createObjects(call);
    const headers = { authorization: `Bearer ${token}` };
    const take = async (kind: string): Promise<string> => {
      let isDone = false;
      const taking = fetch(`${api.adminUrl}/profiles/${kind}?seconds=1`, { method: "POST", headers }).finally(() => {
        isDone = true;
      });
      while (!isDone) {
        await call("keys.verifyKey", { key });
        await call("keys.createKey", { apiId, name: "a name that callers sent", recoverable: true });
      }
      const response = await taking;
      expect(response.status).toBe(200);
      return response.text();
    };
    for (const kind of ["cpu", "heap"]) {
      const profile = await take(kind);
      expect(profile).toContain("functionName");
      for (const held of [api.rootKey, "lkr_", String(key), token, encryptionKey, "a name that callers sent"])
        expect(profile).not.toContain(held);
    }
    expect((await fetch(`${api.adminUrl}/profiles/cpu?seconds=1`, { method: "POST" })).status).toBe(401);
    expect(lines.filter(({ msg }) => msg === "profile taken")).toMatchObject([
      { kind: "cpu", seconds: 1, address: "127.0.0.1" },
      { kind: "heap", seconds: 1, address: "127.0.0.1" },
    ]);
  } finally {
    await api.close();
  }
});
