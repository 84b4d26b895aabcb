// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { type Browser, failureOf, openBrowser } from "../../support/browser.ts";
import { consoleSuite, expectDone, expectEnded, use } from "../../support/consoleSuite.ts";
import { engines } from "../../support/stores.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe.each(engines)("the end of a session of the console on $name", (engine) => {
  const suite = consoleSuite(engine);

  test("[console §2.3] a session ends when it was not used for half an hour, to the millisecond", async () => {
    const browser = await suite.signedIn();
    for (let i = 0; i < 3; i++) {
      suite.clock.advance(30 * MINUTE - 1);
      expectDone(await use(browser));
    }
    suite.clock.advance(30 * MINUTE);
    expectEnded(await use(browser));
    expectEnded(await use(browser));
  });

  test("[console §2.3] it ends after twelve hours, however much it is used", async () => {
    const browser = await suite.signedIn();
    const end = suite.clock.now() + 12 * HOUR;
    while (suite.clock.now() + 20 * MINUTE < end) {
      suite.clock.advance(20 * MINUTE);
      expectDone(await use(browser));
    }
    suite.clock.advance(end - suite.clock.now() - 1);
    expect(expectDone(await browser.call("GetSession"))).toMatchObject({ idleExpiresAt: String(end), expiresAt: String(end) });
    suite.clock.advance(1);
    expectEnded(await use(browser));
  });

  test("[console §2.3] GetSession and calls in the background renew nothing", async () => {
    const browser = await suite.signedIn();
    const idle = suite.clock.now() + 30 * MINUTE;
    suite.clock.advance(29 * MINUTE);
    for (const answer of [
      await browser.call("ApisService.ListApis", {}, { "x-latchkey-ui": "background" }),
      await browser.call("ListSessions", {}, { "x-latchkey-ui": "background" }),
      await browser.call("GetSession"),
    ])
      expectDone(answer);
    expect(expectDone(await browser.call("GetSession")).idleExpiresAt).toBe(String(idle));
    suite.clock.advance(MINUTE);
    expectEnded(await use(browser));
  });

  test("[console §2.3] any other call renews", async () => {
    const browser = await suite.signedIn();
    suite.clock.advance(29 * MINUTE);
    expectDone(await use(browser));
    expect(expectDone(await browser.call("GetSession")).idleExpiresAt).toBe(String(suite.clock.now() + 30 * MINUTE));
  });

  const lastly: readonly (readonly [string, (keyId: string) => Promise<unknown>])[] = [
    ["disabling", (keyId) => suite.v2("rootKeys.updateKey", { keyId, enabled: false })],
    ["deleting", (keyId) => suite.v2("rootKeys.deleteKey", { keyId })],
    ["taking console.*.sign_in from", (keyId) => suite.v2("rootKeys.updateKey", { keyId, permissions: ["api.*.read_api"] })],
    ["rerolling", (keyId) => suite.v2("rootKeys.rerollKey", { keyId, expiration: 0 })],
  ];
  test.each(lastly)("[console §2.3] %s its root key ends a session, on every node", async (_what, revoke) => {
    const { keyId, key } = await suite.newRootKey();
    const [here, there] = [await suite.signedIn(key), await suite.signedIn(key, suite.other)];
    await revoke(keyId);
    expectEnded(await use(here));
    await expect.poll(async () => (await use(there)).status, { timeout: 30_000 }).toBe(401);
    // They are deleted, not only refused.
    await expect
      .poll(async () => (await suite.sessionsInStore(keyId)).filter(({ deletedAt }) => deletedAt === undefined), { timeout: 10_000 })
      .toEqual([]);
  });

  test("[console §2.3] enabling the root key again revives no session, even if there was no call meanwhile", async () => {
    const { keyId, key } = await suite.newRootKey();
    const [here, there] = [await suite.signedIn(key), await suite.signedIn(key, suite.other)];
    await suite.v2("rootKeys.updateKey", { keyId, enabled: false });
    await suite.v2("rootKeys.updateKey", { keyId, enabled: true });
    expectEnded(await use(here));
    expectEnded(await use(there));
    // A new session of the same millisecond is another.
    expectDone(await use(await suite.signedIn(key)));
    expectDone(await use(await suite.signedIn(key, suite.other)));
  });

  test("[console §2.3] giving console.*.sign_in back revives none either, nor does another change end one", async () => {
    const { keyId, key } = await suite.newRootKey();
    const browser = await suite.signedIn(key);
    await suite.v2("rootKeys.updateKey", { keyId, name: "renamed", permissions: ["console.*.sign_in"] });
    expect(failureOf(await browser.call("ApisService.GetApi", { apiId: "api_unknown" })).type).toBe(
      "unkey/authorization/insufficient_permissions",
    );
    expect(expectDone(await browser.call("GetSession")).permissions).toEqual(["console.*.sign_in"]);
    await suite.v2("rootKeys.updateKey", { keyId, permissions: ["api.*.read_api"] });
    await suite.v2("rootKeys.updateKey", { keyId, permissions: ["api.*.read_api", "console.*.sign_in"] });
    expectEnded(await use(browser));
  });

  test("[console §2.3] a root key that expires ends its sessions, and putting its expiry off revives none", async () => {
    const expires = suite.clock.now() + 10 * MINUTE;
    const { keyId, key } = (await suite.v2("rootKeys.createKey", { permissions: ["console.*.sign_in"], expires })) as {
      keyId: string;
      key: string;
    };
    const [used, unused] = [await suite.signedIn(key), await suite.signedIn(key)];
    suite.clock.advance(10 * MINUTE);
    expectDone(await use(used));
    suite.clock.advance(1);
    expectEnded(await use(used));
    await suite.v2("rootKeys.updateKey", { keyId, expires: null });
    expectEnded(await use(used));
    expectEnded(await use(unused));
    expectDone(await use(await suite.signedIn(key)));
  });

  test("[console §2.3] signing out deletes the session, clears the browser's cache and takes the cookie back", async () => {
    const { keyId, key } = await suite.newRootKey();
    const browser = await suite.signedIn(key);
    const { cookie } = browser;
    const answer = await browser.call("SignOut");
    expect([answer.status, answer.headers["clear-site-data"], answer.headers["set-cookie"]]).toEqual([
      200,
      '"cache"',
      [`${cookie?.split("=")[0]}=; Max-Age=0; HttpOnly; SameSite=Strict; Path=/`],
    ]);
    browser.cookie = cookie;
    expectEnded(await use(browser));
    await expect.poll(() => suite.sessionsInStore(keyId), { timeout: 10_000 }).toEqual([]);
    // Once more, as from a second tab.
    const again = await openBrowser(suite.api.url).call("SignOut");
    expect([again.status, again.headers["clear-site-data"]]).toEqual([200, '"cache"']);
  });

  test("[console §2.3] a call that is under way twenty times at once, and the sign-out among them, ends in 200 or 401 each", async () => {
    const browser = await suite.signedIn((await suite.newRootKey()).key);
    const { cookie } = browser;
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => browser.call(i === 10 ? "SignOut" : "ApisService.ListApis", {}, { cookie })),
    );
    expect(answers.filter(({ status }) => status !== 200 && status !== 401)).toEqual([]);
    browser.cookie = cookie;
    expectEnded(await use(browser));
  });

  test("[console §1] a session's use counts as use of its root key, and of console.*.sign_in", async () => {
    const { keyId, key } = await suite.newRootKey();
    const browser = await suite.signedIn(key);
    expectDone(await use(browser));
    const own = async () =>
      (await suite.v2("rootKeys.listKeys", {})) as unknown as {
        keyId: string;
        lastUsedAt: number;
        usedPermissions: { permission: string }[];
      }[];
    await expect
      .poll(async () => (await own()).find((each) => each.keyId === keyId)?.usedPermissions.map(({ permission }) => permission), {
        timeout: 15_000,
      })
      .toEqual(["console.*.sign_in"]);
  });

  test("[console §1] the same Idempotency-Key of another session is another key, and a replay needs the session", async () => {
    const [one, two] = [await suite.signedIn(), await suite.signedIn()];
    const create = (browser: Browser) => browser.call("ApisService.CreateApi", { name: "once" }, { "idempotency-key": "the-same" });
    const first = await create(one);
    const replay = await create(one);
    expect(expectDone(replay)).toEqual(expectDone(first));
    expect([first.headers["idempotency-replayed"], replay.headers["idempotency-replayed"]]).toEqual([undefined, "true"]);
    expect(expectDone(await create(two)).apiId).not.toBe(first.body.data.apiId);
    const { cookie } = one;
    await one.call("SignOut");
    one.cookie = cookie;
    expectEnded(await create(one));
  });
});
