import { describe, expect, test } from "vitest";
import { createId } from "../../../src/platform/base/ids.ts";
import { collectionNames } from "../../../src/platform/storage/embedded/sqlite/schema.ts";
import { createLog } from "../../../src/platform/telemetry/log.ts";
import { startApi } from "../../support/api.ts";
import { failureOf, openBrowser } from "../../support/browser.ts";
import { consoleSuite, expectDone, expectEnded, use } from "../../support/consoleSuite.ts";
import { engines } from "../../support/stores.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe.each(engines)("sessions of the console on $name", (engine) => {
  const suite = consoleSuite(engine);

  test("[console §2.1] a root key opens a session, which calls as that root key", async () => {
    const { keyId, key } = await suite.newRootKey();
    const browser = openBrowser(suite.api.url);
    const answer = await browser.signIn(key);
    expect(answer.body).toEqual({
      meta: { requestId: expect.stringMatching(/^req_/) },
      data: {
        idleExpiresAt: String(suite.clock.now() + 30 * MINUTE),
        expiresAt: String(suite.clock.now() + 12 * HOUR),
        permissions: ["api.*.read_api", "console.*.sign_in"],
      },
    });
    expect(expectDone(await browser.call("RootKeysService.Whoami")).keyId).toBe(keyId);
    expect(failureOf(await browser.call("ApisService.CreateApi", { name: "not mine" }))).toMatchObject({
      type: "unkey/authorization/insufficient_permissions",
      message: expect.stringContaining("api.*.create_api"),
    });
  });

  test("[console §2.1] the token is 32 random bytes; the store has only its SHA-256, and answers never contain it", async () => {
    const { keyId, key } = await suite.newRootKey();
    const browser = openBrowser(suite.api.url);
    const answer = await browser.signIn(key);
    const token = browser.cookie?.split("=")[1] ?? "";
    expect(Buffer.from(token, "base64url")).toHaveLength(32);
    expect(answer.text).not.toContain(token);
    const [session] = await suite.sessionsInStore(keyId);
    expect(session).toMatchObject({ rootKeyId: keyId, address: "127.0.0.1", lastUsedAt: suite.clock.now(), createdAt: suite.clock.now() });
    for (const secret of [token, key, Buffer.from(token, "base64url").toString("hex")])
      expect(JSON.stringify(session)).not.toContain(secret);
    expect((await suite.signedIn(key)).cookie).not.toBe(browser.cookie);
  });

  test.each([
    ["without console.*.sign_in", ["api.*.read_api"]],
    ["without anything but what looks like it", ["api.*.read_api", "node.*.read_node"]],
  ])("[console §2.1] a root key %s may not sign in", async (_what, permissions) => {
    const { key } = await suite.newRootKey(permissions);
    const browser = openBrowser(suite.api.url);
    expect(failureOf(await browser.call("SignIn", { rootKey: key }, {}, { localAddress: "127.0.1.1" }))).toMatchObject({
      code: "unauthenticated",
      type: "unkey/console/sign_in_failed",
    });
    expect(browser.cookie).toBeUndefined();
  });

  test("[console §2.1, §2.7] neither root key nor token is in any log line or collection", async () => {
    let lines = "";
    const collect = {
      write: (line: string) => {
        lines += line;
      },
    };
    const log = createLog("trace", collect);
    const api = await startApi(engine, { log, env: { LOG_LEVEL: "trace" } });
    try {
      const browser = openBrowser(api.url);
      const tokens: string[] = [];
      for (const call of [() => browser.signIn(api.rootKey), () => browser.call("Elevate", { rootKey: api.rootKey })]) {
        expectDone(await call());
        tokens.push(browser.cookie?.split("=")[1] ?? "");
      }
      const typo = `${api.rootKey.slice(0, -1)}_`;
      expect((await browser.signIn(typo)).status).toBe(401);
      await browser.call("NodesService.ListNodes");
      await browser.call("SignOut");
      const stored = await Promise.all(collectionNames.map((name) => api.store.collection(name).find({}).toArray()));
      const everything = lines + JSON.stringify(stored);
      expect(lines).toContain("console.signIn");
      for (const secret of [...tokens, api.rootKey, typo]) expect(everything).not.toContain(secret);
    } finally {
      await api.close();
    }
  });

  test("[console §2.1] every node knows a session, and its end", async () => {
    const here = await suite.signedIn();
    const there = openBrowser(suite.other.url);
    // The cookie's name has the port in it, which is another node's here.
    there.cookie = here.cookie?.replace(/^latchkey-\d+/, `latchkey-${new URL(suite.other.url).port}`);
    expectDone(await use(there));
    expectDone(await here.call("SignOut"));
    expectEnded(await use(there));
  });

  test("[console §2.1] ListSessions shows one's sessions, the latest first, and which is the own one", async () => {
    const { key } = await suite.newRootKey();
    const first = openBrowser(suite.api.url, { "user-agent": "first/1.0" });
    await first.signIn(key);
    suite.clock.advance(1_000);
    const second = openBrowser(suite.api.url, { "user-agent": "zweiter/2.0" });
    await second.signIn(key);
    suite.clock.advance(5_000);
    const data = expectDone(await first.call("ListSessions"));
    const now = suite.clock.now();
    const common = { sessionId: expect.stringMatching(/^ses_/), address: "127.0.0.1" };
    expect(data).toEqual([
      { ...common, userAgent: "zweiter/2.0", createdAt: String(now - 5_000), lastUsedAt: String(now - 5_000) },
      { ...common, userAgent: "first/1.0", current: true, createdAt: String(now - 6_000), lastUsedAt: String(now) },
    ]);
    expectDone(await first.call("EndSession", { sessionId: data[0].sessionId }));
    expectEnded(await use(second));
    expect(expectDone(await first.call("ListSessions"))).toHaveLength(1);
    const again = await first.call("EndSession", { sessionId: data[0].sessionId });
    expect([again.status, failureOf(again).type]).toEqual([404, "unkey/console/session_not_found"]);
  });

  test("[console §2.1] a root key has a hundred sessions at most: one more ends the oldest", async () => {
    const { keyId, key } = await suite.newRootKey();
    const oldest = await suite.signedIn(key);
    suite.clock.advance(1);
    const [session] = await suite.sessionsInStore(keyId);
    const { _id, hash, outbox, pendingMark, ...fields } = session ?? expect.unreachable("a session was opened");
    const others = Array.from({ length: 98 }, () => ({ ...fields, _id: createId("ses", suite.clock.now()) }));
    await suite.api.store.collection("sessions").insertMany(others);
    suite.clock.advance(1);
    const second = await suite.signedIn(key);
    expectDone(await use(oldest));
    suite.clock.advance(1);
    const latest = await suite.signedIn(key);
    expectEnded(await use(oldest));
    for (const browser of [second, latest]) expectDone(await use(browser));
    expect((await suite.sessionsInStore(keyId)).filter(({ deletedAt }) => deletedAt === undefined)).toHaveLength(100);
  });

  test("[console §2.1] EndSession ends no session of another root key, and says the same as of one that never was", async () => {
    const [mine, theirs] = [await suite.newRootKey(), await suite.newRootKey()];
    const [browser, foreign] = [await suite.signedIn(mine.key), await suite.signedIn(theirs.key)];
    const [{ sessionId }] = expectDone(await foreign.call("ListSessions"));
    const answers = [sessionId, "ses_never"].map(async (id) => {
      const answer = await browser.call("EndSession", { sessionId: id });
      return [answer.status, failureOf(answer).type, failureOf(answer).message.replace(id, "")];
    });
    const [one, never] = await Promise.all(answers);
    expect(one).toEqual([404, "unkey/console/session_not_found", expect.any(String)]);
    expect(one).toEqual(never);
    expectDone(await use(foreign));
  });

  test("[console §2.1] ending one's own session takes the cookie back", async () => {
    const browser = await suite.signedIn((await suite.newRootKey()).key);
    const [{ sessionId }] = expectDone(await browser.call("ListSessions"));
    const token = browser.cookie;
    const answer = await browser.call("EndSession", { sessionId });
    expect([answer.status, browser.cookie]).toEqual([200, undefined]);
    browser.cookie = token;
    expectEnded(await use(browser));
  });

  test.each([
    ["no cookie", undefined],
    ["an empty cookie", ""],
    ["a token that never was", "A".repeat(43)],
    ["something short", "x"],
    ["something that is not base64url", "ä".repeat(43)],
    ["a huge cookie", "A".repeat(8_000)],
    ["prototype names", "__proto__"],
    ["an injected operator", '{"$ne":""}'],
  ])("[console §2.1] %s is no session", async (_what, value) => {
    const browser = openBrowser(suite.api.url);
    if (value !== undefined) browser.cookie = `latchkey-${new URL(suite.api.url).port}=${Buffer.from(value).toString("latin1")}`;
    for (const procedure of ["GetSession", "ListSessions", "ApisService.ListApis", "RootKeysService.Whoami"])
      expectEnded(await browser.call(procedure));
    expectEnded(await browser.call("EndSession", { sessionId: "ses_x" }));
    expectEnded(await browser.call("Elevate", { rootKey: suite.api.rootKey }));
  });

  test("[console §2.1] two cookies of the name count as none, so no other site can choose the session", async () => {
    const browser = await suite.signedIn();
    const good = browser.cookie ?? "";
    for (const cookie of [`${good}; ${good.split("=")[0]}=${"A".repeat(43)}`, `${good.split("=")[0]}=x; ${good}`, `${good}; ${good}`]) {
      browser.cookie = cookie;
      expectEnded(await use(browser));
    }
    browser.cookie = `other=1; ${good}; latchkey-1=x; =; ;;`;
    expectDone(await use(browser));
  });
});
