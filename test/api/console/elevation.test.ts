// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { type Browser, type ConsoleAnswer, failureOf, openBrowser } from "../../support/browser.ts";
import { request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

const MINUTE = 60_000;

describe.each(engines)("elevation on $name", (engine) => {
  const clock = createTestClock(Date.now());
  let api: Api;
  beforeAll(async () => {
    api = await startApi(engine, { clock, env: { ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}` } });
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  const signedIn = async (rootKey = api.rootKey): Promise<Browser> => {
    const browser = openBrowser(api.url);
    expect((await browser.signIn(rootKey)).status).toBe(200);
    return browser;
  };
  const v2 = async (procedure: string, body: object) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));
  const kindOf = (answer: ConsoleAnswer): string =>
    answer.status === 200 ? "done" : `${failureOf(answer).code} ${failureOf(answer).type}`;
  const needed = "permission_denied unkey/console/elevation_required";
  const lacking = "permission_denied unkey/authorization/insufficient_permissions";

  /** Each with fresh objects: the call, and what undoes nothing if it is refused. */
  const guarded: readonly (readonly [string, () => Promise<readonly [procedure: string, message: object]>])[] = [
    ["making a root key", async () => ["RootKeysService.CreateKey", { permissions: ["api.*.read_api"] }]],
    ["changing one", async () => ["RootKeysService.UpdateKey", { keyId: await rootKeyId(), name: { value: "new" } }]],
    ["rerolling one", async () => ["RootKeysService.RerollKey", { keyId: await rootKeyId(), expiration: { null: null } }]],
    ["deleting one", async () => ["RootKeysService.DeleteKey", { keyId: await rootKeyId() }]],
    ["deleting an API", async () => ["ApisService.DeleteApi", { apiId: await apiId() }]],
    ["deleting a namespace", async () => ["RatelimitService.DeleteNamespace", { namespace: await namespace() }]],
    ["decrypting a key", async () => ["KeysService.GetKey", { keyId: (await recoverable()).keyId, decrypt: true }]],
    ["decrypting the keys of an API", async () => ["ApisService.ListKeys", { apiId: (await recoverable()).apiId, decrypt: true }]],
  ];
  const rootKeyId = async () => (await v2("rootKeys.createKey", { permissions: ["api.*.read_api"] })).keyId as string;
  const apiId = async () => (await v2("apis.createApi", { name: "an-api" })).apiId as string;
  let namespaces = 0;
  const namespace = async () => {
    const name = `namespace-${++namespaces}`;
    await v2("ratelimit.limit", { namespace: name, identifier: "i", limit: 1, duration: 1_000 });
    return name;
  };
  const recoverable = async () => {
    const id = await apiId();
    const { keyId } = await v2("keys.createKey", { apiId: id, recoverable: true });
    return { apiId: id, keyId: keyId as string };
  };

  test.each(guarded)("[console §2.4] %s needs the root key entered again, and signing in is not that", async (_what, prepare) => {
    const browser = await signedIn();
    const [procedure, message] = await prepare();
    const answer = await browser.call(procedure, message);
    expect([answer.status, kindOf(answer)]).toEqual([403, needed]);
    expect((await browser.call("Elevate", { rootKey: api.rootKey })).status).toBe(200);
    expect(kindOf(await browser.call(procedure, message))).toBe("done");
  });

  test.each(guarded)("[console §2.4] %s by a caller without the permission is refused for that reason", async (_what, prepare) => {
    const key = await api.createRootKey({ permissions: ["console.*.sign_in", "api.*.read_key", "api.*.read_api"] });
    const [procedure, message] = await prepare();
    expect(kindOf(await (await signedIn(key)).call(procedure, message))).toBe(lacking);
  });

  test.each([
    ["reading root keys", "RootKeysService.ListKeys", {}],
    ["oneself", "RootKeysService.Whoami", {}],
    ["making an API", "ApisService.CreateApi", { name: "an-api" }],
    ["the audit log", "AuditService.GetLogs", {}],
  ])("[console §2.4] %s does not", async (_what, procedure, message) => {
    expect(kindOf(await (await signedIn()).call(procedure, message))).toBe("done");
  });

  test("[console §2.4] deleting a key does not, nor does reading one without its plaintext", async () => {
    const { keyId, apiId } = await recoverable();
    const browser = await signedIn();
    expect(kindOf(await browser.call("KeysService.GetKey", { keyId }))).toBe("done");
    expect(kindOf(await browser.call("ApisService.ListKeys", { apiId }))).toBe("done");
    expect(kindOf(await browser.call("KeysService.DeleteKey", { keyId }))).toBe("done");
  });

  test.each([
    ["AuditService.GetLogs", {}],
    ["ApisService.ListKeys", undefined],
    ["KeysService.SearchKeys", undefined],
  ])("[console §2.4] a part of an export by %s needs it", async (procedure, given) => {
    const { apiId } = await recoverable();
    const message = given ?? { apiId };
    const browser = await signedIn();
    const asExport = { "x-latchkey-ui": "export" };
    expect(kindOf(await browser.call(procedure, message, asExport))).toBe(needed);
    expect(kindOf(await browser.call(procedure, message))).toBe("done");
    await browser.call("Elevate", { rootKey: api.rootKey });
    expect(kindOf(await browser.call(procedure, message, asExport))).toBe("done");
  });

  test("[console §2.4] it lasts five minutes from the entry, however much it is used", async () => {
    const browser = await signedIn();
    const until = clock.now() + 5 * MINUTE;
    const answer = await browser.call("Elevate", { rootKey: api.rootKey });
    expect(answer.body.data.elevatedUntil).toBe(String(until));
    const create = () => browser.call("RootKeysService.CreateKey", { permissions: ["api.*.read_api"] });
    for (let i = 0; i < 4; i++) {
      clock.advance(MINUTE);
      expect(kindOf(await create())).toBe("done");
    }
    clock.advance(MINUTE - 1);
    expect(kindOf(await create())).toBe("done");
    expect((await browser.call("GetSession")).body.data.elevatedUntil).toBe(String(until));
    clock.advance(1);
    expect(kindOf(await create())).toBe(needed);
    expect((await browser.call("GetSession")).body.data).not.toHaveProperty("elevatedUntil");
    expect((await browser.call("ApisService.ListApis")).status).toBe(200);
  });

  test("[console §2.4] it gives the session a new token, and the old one is void", async () => {
    const browser = await signedIn();
    const [{ sessionId }] = (await browser.call("ListSessions")).body.data;
    const old = browser.cookie;
    await browser.call("Elevate", { rootKey: api.rootKey });
    const fresh = browser.cookie;
    expect(fresh).not.toBe(old);
    expect((await browser.call("ListSessions")).body.data.find(({ current }: { current?: boolean }) => current).sessionId).toBe(sessionId);
    browser.cookie = old;
    expect((await browser.call("ApisService.ListApis")).status).toBe(401);
  });

  test("[console §2.4] concurrent elevations with one token: one wins, and the other's token is invalid", async () => {
    const browser = await signedIn();
    const { cookie } = browser;
    const answers = await Promise.all([0, 1].map(() => browser.call("Elevate", { rootKey: api.rootKey }, { cookie })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect(answers.filter(({ headers }) => headers["set-cookie"] !== undefined)).toHaveLength(1);
  });

  test("[console §2.4] another root key elevates nothing, whatever it may do, nor does one that was revoked meanwhile", async () => {
    const { keyId, key } = (await v2("rootKeys.createKey", { permissions: ["console.*.sign_in"] })) as { keyId: string; key: string };
    const browser = await signedIn(key);
    const other = await browser.call("Elevate", { rootKey: api.rootKey });
    expect([other.status, failureOf(other).type, other.headers["set-cookie"]]).toEqual([401, "unkey/console/sign_in_failed", undefined]);
    expect((await browser.call("GetSession")).body.data).not.toHaveProperty("elevatedUntil");
    await v2("rootKeys.updateKey", { keyId, enabled: false });
    expect((await browser.call("Elevate", { rootKey: key })).status).toBe(401);
  });

  test("[console §2.4] a replay of what needed it needs it again, in the same session", async () => {
    const browser = await signedIn();
    const create = () =>
      browser.call("RootKeysService.CreateKey", { permissions: ["api.*.read_api"] }, { "idempotency-key": "root-key-1" });
    expect(kindOf(await create())).toBe(needed);
    await browser.call("Elevate", { rootKey: api.rootKey });
    const first = await create();
    const again = await create();
    expect([kindOf(again), again.body.data]).toEqual(["done", first.body.data]);
    expect(again.headers["idempotency-replayed"]).toBe("true");
    clock.advance(5 * MINUTE);
    expect(kindOf(await create())).toBe(needed);
    // The stored answer contains neither the root key nor the token.
    const kept = JSON.stringify(await api.store.collection("idempotency").find({}).toArray());
    for (const secret of [first.body.data.key, browser.cookie?.split("=")[1]]) expect(kept).not.toContain(secret);
  });

  test("[console §2.4] on /v2 the same root key needs no elevation", async () => {
    await v2("apis.deleteApi", { apiId: await apiId() });
  });
});
