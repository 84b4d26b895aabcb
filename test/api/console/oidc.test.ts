// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { send } from "../../support/browser.ts";
import { clientSecret } from "../../support/identityProvider.ts";
import { altered, failureIn, oidcSuite, publicUrl, roundCookie, sessionCookie } from "../../support/oidcSuite.ts";
import type { Person } from "../../support/person.ts";
import { engines } from "../../support/stores.ts";

const MINUTE = 60_000;

describe.each(engines)("signing in by OpenID Connect on $name", (engine) => {
  const suite = oidcSuite(engine);

  const { returning } = suite;
  const expectNobody = (person: Person): void => {
    expect(person.cookies.has(sessionCookie)).toBe(false);
    expect(person.cookies.has(roundCookie)).toBe(false);
  };

  test("[console §2.8] the browser is sent to the provider with PKCE, state, nonce and the exact redirect URI", async () => {
    const person = suite.person();
    const { status, headers } = await person.start();
    const { origin, searchParams: sent } = new URL(headers.location ?? "");
    expect([status, origin]).toEqual([303, suite.provider.issuer]);
    expect(Object.fromEntries(sent)).toEqual({
      client_id: "latchkey",
      response_type: "code",
      redirect_uri: `${publicUrl}/ui/oidc/callback`,
      scope: "openid profile groups",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-latchkey-oidc=[A-Za-z0-9+/=]+; Secure; HttpOnly; SameSite=Lax; Path=\/; Max-Age=600$/),
    ]);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
      "strict-transport-security": "max-age=31536000",
      "referrer-policy": "no-referrer",
    });
    // Nothing of it can be read in the browser.
    const sealed = Buffer.from(person.cookies.get(roundCookie) ?? "", "base64").toString("latin1");
    expect(sealed).not.toContain(sent.get("state"));
    expect(sealed).not.toContain("keys.test");
  });

  test("[console §2.8] a person with a mapping gets a session with a strict cookie, and continues to the page they wanted", async () => {
    const { person, address } = await returning("bob", `?next=${encodeURIComponent("/ui/keys/key_1?tab=audit")}`);
    const { status, headers } = await person.callback(address);
    expect([status, headers.location]).toEqual([303, "/ui/keys/key_1?tab=audit"]);
    expect(headers["set-cookie"]).toEqual([
      "__Host-latchkey-oidc=; Max-Age=0; Secure; HttpOnly; SameSite=Lax; Path=/",
      expect.stringMatching(/^__Host-latchkey=[\w-]{43}; Secure; HttpOnly; SameSite=Strict; Path=\/$/),
    ]);
    expect(headers).toMatchObject({ "cache-control": "no-store", "content-security-policy": expect.stringContaining("'none'") });
    expect((await person.browser.call("GetSession")).body.data.person).toEqual({
      issuer: suite.provider.issuer,
      subject: "bob",
      name: "Bob",
    });
  });

  test.each([
    "https://evil.example/",
    "//evil.example/ui",
    "/ui/..//evil.example/",
    "/ui/../../evil",
    "/\\evil.example",
    "/uix",
    "/ui/rpc/latchkey.v2.KeysService/CreateKey",
    "/ui/oidc/start?elevate=1",
    "/ui/sign-in",
    "javascript:alert(1)",
    `/ui/${"a".repeat(1_500)}`,
  ])("[console §2.8] a person is never redirected to %.40s", async (next) => {
    const { person, address } = await returning("bob", `?next=${encodeURIComponent(next)}`);
    expect((await person.callback(address)).headers.location).toBe("/ui");
  });

  test("[console §2.8] a round that began at one node ends at another", async () => {
    const { person, address } = await returning();
    const elsewhere = suite.person(suite.other);
    elsewhere.cookies.set(roundCookie, person.cookies.get(roundCookie) ?? "");
    expect((await elsewhere.callback(address)).headers.location).toBe("/ui");
    expect((await elsewhere.browser.call("ApisService.ListApis")).status).toBe(200);
  });

  test("[console §2.5] without the cookie of the round no session is opened, so no person can be signed in as another one", async () => {
    const { address } = await returning("bob");
    const victim = suite.person();
    for (let i = 0; i < 12; i++) expect(failureIn(await victim.callback(address))).toBe("expired");
    expectNobody(victim);
    // It counts for nothing: a page of others could else keep people from signing in.
    suite.provider.account = "alice";
    expect((await victim.signIn()).headers.location).toBe("/ui");
  });

  test.each([
    ["code", (_address: string) => ({ code: "guessed" })],
    ["issuer", (_address: string) => ({ iss: "https://evil.example" })],
  ])("[console §2.8] another %s is refused, and the round is over", async (_what, changes) => {
    const { person, address } = await returning();
    expect(failureIn(await person.callback(altered(address, changes(address))))).toBe("refused");
    expectNobody(person);
    expect(failureIn(await person.callback(address))).toBe("expired");
  });

  test("[console §2.8] the code of another's round is of no use in one's own", async () => {
    const attacker = await returning("bob");
    const { person, address } = await returning("alice");
    const code = new URL(attacker.address).searchParams.get("code") ?? "";
    expect(failureIn(await person.callback(altered(address, { code })))).toBe("refused");
    expectNobody(person);
  });

  test.each([
    ["nonce", { nonce: "n".repeat(43) }],
    ["client", { client_id: "another" }],
    ["challenge", { code_challenge: "c".repeat(43) }],
  ])("[console §2.8] an answer of the provider for another %s is refused", async (_what, changes) => {
    suite.provider.account = "alice";
    const person = suite.person();
    const { location = "" } = (await person.start()).headers;
    expect(failureIn(await person.callback(await person.atProvider(altered(location, changes))))).toBe("refused");
    expectNobody(person);
  });

  test("[console §2.5] a round works once, even with a kept cookie", async () => {
    const { person, address } = await returning();
    const kept = person.cookies.get(roundCookie) ?? "";
    expect((await person.callback(address)).headers.location).toBe("/ui");
    expect(failureIn(await person.callback(address))).toBe("expired");
    const thief = suite.person();
    thief.cookies.set(roundCookie, kept);
    expect(failureIn(await thief.callback(address))).toBe("refused");
    expectNobody(thief);
  });

  test("[console §2.5] it is over after ten minutes, and a cookie that was altered or made elsewhere is none", async () => {
    const { person, address } = await returning();
    const cookie = person.cookies.get(roundCookie) ?? "";
    const bytes = Buffer.from(cookie, "base64");
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    for (const wrong of [bytes.toString("base64"), "x", cookie.slice(0, 20), `${cookie}; ${roundCookie}=${cookie}`]) {
      person.cookies.set(roundCookie, wrong);
      expect(failureIn(await person.callback(address))).toBe("expired");
    }
    person.cookies.set(roundCookie, cookie);
    suite.clock.advance(10 * MINUTE);
    expect(failureIn(await person.callback(address))).toBe("expired");
    expectNobody(person);
  });

  test("[console §2.8] a person without a mapping is refused, and the audit log records the attempt", async () => {
    const { person, address } = await returning("carol");
    expect(failureIn(await person.callback(address))).toBe("unmapped");
    expectNobody(person);
    const id = `${suite.provider.issuer}#carol`;
    await expect
      .poll(() => suite.entries({ resourceId: id }), { timeout: 10_000 })
      .toEqual([
        expect.objectContaining({
          event: "console.sign_in_failed",
          outcome: "failure",
          actor: { type: "anonymous", id: expect.stringMatching(/^192\.0\.2\./) },
          resources: [{ type: "person", id, name: "Carol" }],
        }),
      ]);
  });

  test("[console §2.8] a person who refuses, or is refused, is told so", async () => {
    const { person, address } = await returning("");
    expect(new URL(address).searchParams.get("error")).toBe("access_denied");
    expect(failureIn(await person.callback(address))).toBe("denied");
  });

  test("[console §2.7] failures count with those of root keys: after ten even the right one has to wait", async () => {
    const address = "198.51.100.7";
    for (let i = 0; i < 9; i++) {
      const person = suite.person(i % 2 === 0 ? suite.api : suite.other, address);
      suite.provider.account = "carol";
      expect(failureIn(await person.signIn())).toBe("unmapped");
    }
    expect((await suite.person(suite.api, address).browser.signIn("lkr_unknown")).status).toBe(401);
    suite.provider.account = "alice";
    const person = suite.person(suite.other, address);
    const answer = await person.signIn();
    expect([answer.status, answer.headers["content-type"]]).toEqual([429, "text/html; charset=utf-8"]);
    expect(answer.text).toContain(`Too many sign-ins from this address failed. Try again in ${answer.headers["retry-after"]} s.`);
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    expectNobody(person);
    expect((await person.browser.signIn(suite.api.rootKey)).status).toBe(429);
    suite.clock.advance(MINUTE);
    expect((await person.signIn()).headers.location).toBe("/ui");
  });

  test.each([
    ["another site leads there", { "sec-fetch-site": "cross-site" }, 403],
    ["a neighbour leads there", { "sec-fetch-site": "same-site" }, 403],
    ["nobody says who leads there", { "sec-fetch-site": undefined }, 403],
    ["it is loaded as an image", { "sec-fetch-dest": "image" }, 403],
    ["it is loaded into a frame", { "sec-fetch-dest": "iframe" }, 403],
    ["its host is not ours", { host: "evil.example" }, 403],
    ["the proxy does not say https", { "x-forwarded-proto": "http" }, 403],
    ["somebody opens it by a bookmark", { "sec-fetch-site": "none" }, 303],
  ])("[console §2.5] where %s, the beginning of a round is refused, or not: %o", async (_why, headers, status) => {
    const answer = await suite.person().start("", headers);
    expect(answer.status).toBe(status);
    expect(answer.headers["content-security-policy"]).toContain("default-src 'none'");
    if (status === 403) expect(answer.headers["set-cookie"]).toBeUndefined();
  });

  test("[console §2.5] another method, and another address below it, are refused", async () => {
    const person = suite.person();
    const { url } = suite.api;
    const common = { host: "keys.test", "x-forwarded-proto": "https", "sec-fetch-site": "same-origin" };
    const posted = await send(`${url}/ui/oidc/callback`, { method: "POST", headers: common, body: "code=1&state=2" });
    expect([posted.status, posted.headers.allow]).toEqual([405, "GET"]);
    expect((await send(`${url}/ui/oidc/other`, { headers: common })).status).toBe(404);
    expectNobody(person);
  });

  test("[console §2.8] an unavailable provider keeps no other person from signing in, and is tried again after five seconds", async () => {
    const beside = await suite.startBeside({});
    suite.provider.trouble = 503;
    const person = suite.person(beside);
    const began = await person.start("?next=%2Fui%2Ffind");
    expect([failureIn(began), began.headers.location]).toEqual(["away", "/ui/sign-in?oidc=away&next=%2Fui%2Ffind"]);
    const asked = suite.provider.requests.length;
    expect(failureIn(await person.start())).toBe("away");
    expect(suite.provider.requests.length).toBe(asked);
    expect((await person.browser.signIn(beside.rootKey)).status).toBe(200);
    suite.provider.trouble = undefined;
    suite.clock.advance(5_000);
    suite.provider.account = "alice";
    const { person: late, address } = await returning();
    suite.provider.trouble = 500;
    expect(failureIn(await late.callback(address))).toBe("away");
    suite.provider.trouble = undefined;
    expect((await suite.person(beside).signIn()).headers.location).toBe("/ui");
  });

  test("[console §2.8] every answer of the console's own service names the provider", async () => {
    const { browser } = suite.person();
    const answer = await browser.call("GetSession");
    expect([answer.status, answer.headers["x-latchkey-oidc"]]).toEqual([401, new URL(suite.provider.issuer).host]);
    expect((await browser.call("ApisService.ListApis")).headers["x-latchkey-oidc"]).toBeUndefined();
  });

  test("[console §2.9] no log holds a secret, a code, a state or a claim", async () => {
    const { person, address } = await returning();
    const query = new URL(address).searchParams;
    await person.callback(altered(address, { code: `${query.get("code")}x` }));
    await returning("carol").then((carol) => carol.person.callback(carol.address));
    const text = suite.logged();
    expect(text).toContain("identity provider failed");
    for (const secret of [clientSecret, query.get("code"), query.get("state"), "Carol", "staff"]) expect(text).not.toContain(secret);
  });
});
