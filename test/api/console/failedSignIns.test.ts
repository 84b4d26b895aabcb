// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRootKeySecret } from "../../../src/platform/secrets/rootKeySecret.ts";
import { type Api, dataOf, startApi } from "../../support/api.ts";
import { type Browser, type ConsoleAnswer, failureOf, openBrowser } from "../../support/browser.ts";
import { request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";
import { createTestClock } from "../../support/testClock.ts";

/** Well-formed, so it is looked up. */
const unknownKey = createRootKeySecret().key.reveal();

const facts = (answer: ConsoleAnswer) => ({ status: answer.status, ...failureOf(answer) });
const refusedWords = "This root key cannot sign in: it does not exist, is disabled or expired, or lacks console.*.sign_in.";
const refused = { status: 401, code: "unauthenticated", type: "unkey/console/sign_in_failed", message: refusedWords };
const limited = { status: 429, code: "resource_exhausted", type: "user/too_many_requests/sign_ins_limited" };

describe.each(engines)("failed sign-ins on $name", (engine) => {
  const clock = createTestClock(Date.now());
  let api: Api;
  let other: Api;
  // Both services are behind a proxy, which reports the addresses of callers.
  const env = { TRUSTED_PROXIES: "127.0.0.1", CONSOLE: "on" };

  beforeAll(async () => {
    const store = await engine.open();
    api = await startApi(engine, { store, clock, env });
    other = await startApi(engine, { store: await engine.openBeside(store), clock, env });
  });
  afterAll(async () => {
    await other.close();
    await api.close();
    await engine.close();
  });

  let addresses = 0;
  const freshAddress = (): string => `198.51.${Math.floor(++addresses / 250)}.${(addresses % 250) + 1}`;
  /** Host and scheme are those that the proxy was asked for: without PUBLIC_URL a name of the machine, its port the service's. */
  const from = (address: string, node = api): Browser =>
    openBrowser(node.url, { "x-forwarded-for": address, "x-forwarded-proto": "https", origin: node.url.replace("http:", "https:") });
  const failTimes = async (count: number, browser: Browser): Promise<ConsoleAnswer[]> => {
    const answers: ConsoleAnswer[] = [];
    for (let i = 0; i < count; i++) answers.push(await browser.signIn(unknownKey));
    return answers;
  };
  const v2 = async (procedure: string, body: object) => dataOf(await request(api.url, procedure, { rootKey: api.rootKey, body }));
  const logged = async (event: string, actorId: string): Promise<Record<string, unknown>[]> =>
    ((await v2("audit.getLogs", { event: [event], actorId })) as unknown as Record<string, unknown>[]) ?? [];

  test("[console §2.7] the same words for unknown, mistyped, disabled, expired, deleted and not permitted", async () => {
    const make = async (permissions = ["console.*.sign_in"]) =>
      (await v2("rootKeys.createKey", { permissions })) as { keyId: string; key: string };
    const [disabled, deleted, expired, unpermitted] = [await make(), await make(), await make(), await make(["api.*.read_api"])];
    await v2("rootKeys.updateKey", { keyId: disabled.keyId, enabled: false });
    await v2("rootKeys.deleteKey", { keyId: deleted.keyId });
    await v2("rootKeys.rerollKey", { keyId: expired.keyId, expiration: 0 });
    const apiId = (await v2("apis.createApi", { name: "of-a-key" })).apiId as string;
    const { key } = await v2("keys.createKey", { apiId });
    const secrets = [
      unknownKey,
      `${api.rootKey}x`,
      ` ${api.rootKey}`,
      disabled.key,
      deleted.key,
      expired.key,
      unpermitted.key,
      key as string,
    ];
    const browser = from(freshAddress());
    for (const secret of secrets) expect(facts(await browser.signIn(secret))).toEqual(refused);
    expect(browser.cookie).toBeUndefined();
  });

  test.each([
    ["no root key", {}],
    ["an empty one", { rootKey: "" }],
    ["a number", { rootKey: 5 }],
    ["null", { rootKey: null }],
    ["a list", { rootKey: ["lkr"] }],
    ["one of 513 characters", { rootKey: "x".repeat(513) }],
    ["a field that is not there", { rootKey: unknownKey, permissions: [] }],
  ])("[console §2.7] %s is a wrong request, which counts as nothing", async (_what, message) => {
    const address = freshAddress();
    for (let i = 0; i < 11; i++) {
      const answer = await from(address).call("SignIn", message);
      expect([answer.status, failureOf(answer).type]).toEqual([400, "unkey/application/invalid_input"]);
      expect(answer.text).not.toContain(unknownKey);
    }
    expect((await from(address).signIn(api.rootKey)).status).toBe(200);
  });

  test("[console §2.7] a request of more than 8 KiB is refused before it is read: strangers send it", async () => {
    const answer = await from(freshAddress()).call("SignIn", { rootKey: "x".repeat(9_000) });
    expect(facts(answer)).toMatchObject({ code: "resource_exhausted", type: "user/bad_request/request_body_too_large" });
    expect((await from(freshAddress()).call("SignIn", { rootKey: "\u0001".repeat(512) })).status).toBe(401);
  });

  test("[console §2.7] unicode and half surrogates are refused like any wrong key, or as a wrong request", async () => {
    const browser = from(freshAddress());
    for (const rootKey of ["lkr_🔑", "\u0000", "\ud800", "lkr_\u202e", "ﬁ"]) {
      expect([400, 401]).toContain((await browser.signIn(rootKey)).status);
    }
  });

  test("[console §2.7] ten may fail within a minute; then it is 429 with Retry-After, for a right key too", async () => {
    const address = freshAddress();
    const browser = from(address);
    for (const answer of await failTimes(9, browser)) expect(facts(answer)).toEqual(refused);
    clock.advance(20_000);
    expect(facts(...((await failTimes(1, browser)) as [ConsoleAnswer]))).toEqual(refused);
    for (const secret of [unknownKey, api.rootKey]) {
      const answer = await browser.signIn(secret);
      expect([facts(answer), answer.headers["retry-after"]]).toEqual([{ ...limited, message: expect.any(String) }, "40"]);
    }
    expect((await from(freshAddress()).signIn(api.rootKey)).status).toBe(200);
    clock.advance(40_000);
    expect((await browser.signIn(api.rootKey)).status).toBe(200);
    // Nine are over; what was refused by then did not count, and the tenth still does.
    for (const answer of await failTimes(9, browser)) expect(facts(answer)).toEqual(refused);
    expect((await browser.signIn(api.rootKey)).status).toBe(429);
  });

  test("[console §2.7] successes do not count", async () => {
    const browser = from(freshAddress());
    for (let i = 0; i < 15; i++) expect((await browser.signIn(api.rootKey)).status).toBe(200);
    await failTimes(9, browser);
    expect((await browser.signIn(api.rootKey)).status).toBe(200);
    expect(facts(await browser.signIn(unknownKey))).toEqual(refused);
    expect((await browser.signIn(api.rootKey)).status).toBe(429);
  });

  test("[console §2.7] they are counted over all nodes", async () => {
    const address = freshAddress();
    await failTimes(5, from(address, api));
    await failTimes(5, from(address, other));
    for (const node of [api, other]) expect((await from(address, node).signIn(api.rootKey)).status).toBe(429);
  });

  test("[console §2.7] forty concurrent attempts on two nodes: ten learn that they are wrong, and a right one after those is never let in", async () => {
    const address = freshAddress();
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => from(address, i % 2 === 0 ? api : other).signIn(unknownKey)));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(30).fill(429)]);
    expect((await from(address).signIn(api.rootKey)).status).toBe(429);
  });

  test("[console §2.7] twenty right ones at once are all let in", async () => {
    const address = freshAddress();
    const answers = await Promise.all(Array.from({ length: 20 }, () => from(address).signIn(api.rootKey)));
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  });

  test("[console §2.7] IPv6 addresses count by their first 64 bits", async () => {
    for (let i = 0; i < 10; i++) expect((await from(`2001:db8:7:${engine.name.length}::${i + 1}`).signIn(unknownKey)).status).toBe(401);
    expect((await from(`2001:db8:7:${engine.name.length}:ffff::1`).signIn(api.rootKey)).status).toBe(429);
    expect((await from(`2001:db8:7:${engine.name.length + 9}::1`).signIn(api.rootKey)).status).toBe(200);
  });

  test("[console §2.4, §2.7] failed elevations count with failed sign-ins, also another root key than the session's", async () => {
    const address = freshAddress();
    const browser = from(address);
    await browser.signIn(api.rootKey);
    const foreign = await api.createRootKey();
    for (let i = 0; i < 5; i++) expect(facts(await browser.call("Elevate", { rootKey: i === 0 ? foreign : unknownKey }))).toEqual(refused);
    await failTimes(5, from(address));
    for (const rootKey of [unknownKey, api.rootKey]) expect((await browser.call("Elevate", { rootKey })).status).toBe(429);
    // The session itself stays open.
    expect((await browser.call("ApisService.ListApis")).status).toBe(200);
  });

  test("[console §2.7] signing in, elevating and signing out are events of the root key", async () => {
    const { keyId, key } = (await v2("rootKeys.createKey", { permissions: ["console.*.sign_in"], name: "anna" })) as {
      keyId: string;
      key: string;
    };
    const address = freshAddress();
    const browser = openBrowser(api.url, {
      "x-forwarded-for": address,
      "x-forwarded-proto": "https",
      origin: api.url.replace("http:", "https:"),
      "user-agent": "test/1",
    });
    await browser.signIn(key);
    await browser.call("Elevate", { rootKey: key });
    await browser.call("SignOut");
    for (const event of ["console.sign_in", "console.elevate", "console.sign_out"]) {
      await expect
        .poll(() => logged(event, keyId), { timeout: 10_000 })
        .toEqual([
          expect.objectContaining({
            event,
            outcome: "success",
            actor: { type: "rootkey", id: keyId, name: "anna" },
            context: { ipAddress: address, userAgent: "test/1" },
            resources: [
              { type: "session", id: expect.stringMatching(/^ses_/) },
              { type: "key", id: keyId, name: "anna" },
            ],
          }),
        ]);
    }
    expect(await v2("audit.verifyChain", {})).toMatchObject({ intact: true });
  });

  test("[console §2.7] failures are events of the address, at most one in a minute", async () => {
    const address = freshAddress();
    await failTimes(12, from(address));
    const failure = { outcome: "failure", actor: { type: "anonymous", id: address }, context: { ipAddress: address }, resources: [] };
    await expect
      .poll(() => logged("console.sign_in_failed", address), { timeout: 10_000 })
      .toEqual([expect.objectContaining({ ...failure, event: "console.sign_in_failed" })]);
    clock.advance(60_000);
    const browser = from(address);
    await browser.signIn(api.rootKey);
    await browser.call("Elevate", { rootKey: unknownKey });
    await expect
      .poll(() => logged("console.elevate_failed", address), { timeout: 10_000 })
      .toEqual([expect.objectContaining({ ...failure, event: "console.elevate_failed" })]);
    expect(await logged("console.sign_in_failed", address)).toHaveLength(1);
  });
});
