// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { failureOf } from "../../support/browser.ts";
import { expectDone, expectEnded, use } from "../../support/consoleSuite.ts";
import { failureIn, oidcSuite, publicUrl, roundCookie, sessionCookie } from "../../support/oidcSuite.ts";
import type { Person } from "../../support/person.ts";
import { engines } from "../../support/stores.ts";

const MINUTE = 60_000;

const byEvent = (one: { readonly event?: unknown }, other: { readonly event?: unknown }): number =>
  String(one.event).localeCompare(String(other.event));

describe.each(engines)("sessions of people on $name", (engine) => {
  const suite = oidcSuite(engine);
  const idOf = (account: string): string => `${suite.provider.issuer}#${account}`;
  const mapping = (permissions: object, claim: unknown = "groups") => ({
    OIDC_PERMISSIONS: JSON.stringify({ claim, scopes: ["profile", "groups"], permissions }),
  });
  const createRootKey = (person: Person, permissions: readonly string[] | undefined, headers = {}) =>
    person.browser.call("RootKeysService.CreateKey", permissions === undefined ? {} : { permissions }, headers);
  /** Goes to the provider and back, to be trusted for five minutes. */
  const elevate = async (person: Person, account: string, loginAt = suite.clock.now()) => {
    Object.assign(suite.provider, { account, loginAt: Math.floor(loginAt / 1_000) });
    const began = await person.start("?elevate=1");
    const answer = await person.callback(await person.atProvider(began.headers.location));
    suite.provider.loginAt = undefined;
    return { began, answer };
  };

  test("[console §2.8] a person may do what the mapping says, and no more, and has no root key", async () => {
    const bob = await suite.signedIn("bob");
    expect(expectDone(await bob.browser.call("GetSession")).permissions).toEqual([
      "api.*.read_api",
      "api.*.read_key",
      "root_key.*.create_root_key",
      "root_key.*.read_root_key",
    ]);
    expectDone(await use(bob.browser));
    const refused = await bob.browser.call("ApisService.CreateApi", { name: "payments" });
    expect([refused.status, failureOf(refused).message]).toEqual([403, "You lack the permission api.*.create_api."]);
    const whoami = await bob.browser.call("RootKeysService.Whoami");
    expect([whoami.status, failureOf(whoami)]).toMatchObject([404, { code: "not_found", type: "unkey/data/key_not_found" }]);
  });

  test("[protocol §11] the audit log names the person, by issuer and subject", async () => {
    const alice = await suite.signedIn("alice");
    expectDone(await alice.browser.call("ApisService.CreateApi", { name: "payments" }));
    expectDone(await alice.browser.call("SignOut"));
    await expect
      .poll(async () => (await suite.entries({ actorId: idOf("alice") })).map(({ event, actor }) => ({ event, actor })).sort(byEvent), {
        timeout: 10_000,
      })
      .toEqual(
        ["api.create", "console.sign_in", "console.sign_out"].map((event) => ({
          event,
          actor: { type: "person", id: idOf("alice"), name: "Alice" },
        })),
      );
    expectEnded(await use(alice.browser));
  });

  test("[console §2.3] people list and end their own sessions only", async () => {
    const [one, two, bob] = [await suite.signedIn("alice"), await suite.signedIn("alice"), await suite.signedIn("bob")];
    const [{ sessionId: bobs }] = expectDone(await bob.browser.call("ListSessions"));
    const listed = expectDone(await one.browser.call("ListSessions"));
    expect(listed).toHaveLength(2);
    const { sessionId: twos } = listed.find(({ current }: { current?: boolean }) => current !== true);
    const refused = await one.browser.call("EndSession", { sessionId: bobs });
    expect([refused.status, failureOf(refused).type]).toEqual([404, "unkey/console/session_not_found"]);
    expectDone(await one.browser.call("EndSession", { sessionId: twos }));
    expectEnded(await use(two.browser));
    expectDone(await use(bob.browser));
  });

  test("[console §2.8] the mapping is read at each call: another one changes what sessions may do, or refuses them", async () => {
    const bob = await suite.signedIn("bob");
    const alice = await suite.signedIn("alice");
    const at = async (who: Person, env: Readonly<Record<string, string | undefined>>) => {
      const node = await suite.startBeside(env);
      const there = suite.person(node);
      there.browser.cookie = who.browser.cookie;
      const answer = await there.browser.call("GetSession");
      return answer.status === 200 ? answer.body.data.permissions : answer.status;
    };
    expect(await at(bob, mapping({ support: ["api.*.verify_key"] }))).toEqual(["api.*.verify_key"]);
    // The mapping applies to all values that the person had, including those that gave nothing then.
    expect(await at(alice, mapping({ staff: ["node.*.read_node"], platform: ["api.*.read_api"] }))).toEqual([
      "api.*.read_api",
      "node.*.read_node",
    ]);
    // Values of one claim are nothing in another.
    expect(await at(bob, mapping({ support: ["*"] }, "department"))).toBe(401);
    const none = { OIDC_ISSUER: undefined, OIDC_CLIENT_ID: undefined, OIDC_CLIENT_SECRET: undefined, OIDC_PERMISSIONS: undefined };
    expect(await at(alice, none)).toBe(401);
    expect(await at(alice, { OIDC_ISSUER: "https://accounts.example.com" })).toBe(401);
    // Nodes are restarted one after the other: a session that one node refuses still works on nodes with the other mapping.
    expectDone(await use(bob.browser));
    expectDone(await use(alice.browser));
  });

  test("[rootkeys §1] a person hands out no more than the mapping gives, console.*.sign_in included", async () => {
    const bob = await suite.signedIn("bob");
    await elevate(bob, "bob");
    expectDone(await createRootKey(bob, ["api.*.read_api"]));
    for (const more of [["api.*.delete_api"], ["console.*.sign_in"], ["*"], undefined]) {
      expect((await createRootKey(bob, more)).status).toBe(more?.[0] === "*" ? 400 : more === undefined ? 400 : 403);
    }
  });

  test("[console §2.4] an action that needs elevation needs a new sign-in, and then gives another token", async () => {
    const alice = await suite.signedIn("alice");
    const before = await createRootKey(alice, ["api.*.read_api"]);
    expect([before.status, failureOf(before)]).toMatchObject([
      403,
      { type: "unkey/console/elevation_required", message: expect.stringContaining("signed in again at your identity provider") },
    ]);
    const old = alice.browser.cookie;
    const { began, answer } = await elevate(alice, "alice");
    const { searchParams } = new URL(began.headers.location ?? "");
    expect([searchParams.get("max_age"), searchParams.get("prompt")]).toEqual(["0", "login"]);
    expect([answer.status, answer.headers.location]).toEqual([303, "/ui/confirmed"]);
    const until = suite.clock.now() + 5 * MINUTE;
    expect(expectDone(await alice.browser.call("GetSession")).elevatedUntil).toBe(String(until));
    const keyed = { "idempotency-key": "k1" };
    const made = expectDone(await createRootKey(alice, ["api.*.read_api"], keyed));
    expect(expectDone(await createRootKey(alice, ["api.*.read_api"], keyed))).toEqual(made);
    const fresh = alice.browser.cookie;
    expect(fresh).not.toBe(old);
    alice.browser.cookie = old;
    expectEnded(await use(alice.browser));
    alice.browser.cookie = fresh;
    suite.clock.advance(5 * MINUTE);
    expect((await createRootKey(alice, ["api.*.read_api"])).status).toBe(403);
  });

  test("[console §2.8] an elevation uses the claims of the new sign-in", async () => {
    suite.provider.accounts.set("dave", { name: "Dave", groups: ["platform"] });
    const dave = await suite.signedIn("dave");
    expectDone(await dave.browser.call("ApisService.CreateApi", { name: "payments" }));
    suite.provider.accounts.set("dave", { name: "Dave Miller", groups: ["support"] });
    expect((await elevate(dave, "dave")).answer.headers.location).toBe("/ui/confirmed");
    expect((await dave.browser.call("ApisService.CreateApi", { name: "payments" })).status).toBe(403);
    const { permissions, person } = expectDone(await dave.browser.call("GetSession"));
    expect([permissions, person.name]).toEqual([expect.not.arrayContaining(["api.*.create_api"]), "Dave Miller"]);
    // A person without any permission left cannot elevate a session.
    suite.provider.accounts.set("dave", { groups: [] });
    expect(failureIn((await elevate(dave, "dave")).answer)).toBe("unmapped");
  });

  test("[console §2.4] a provider that does not ask again elevates nothing, nor does another person", async () => {
    const alice = await suite.signedIn("alice");
    const { answer: stale } = await elevate(alice, "alice", suite.clock.now() - MINUTE);
    expect([failureIn(stale), stale.headers.location]).toEqual(["stale", "/ui/confirmed?oidc=stale"]);
    Object.assign(suite.provider, { account: "bob", loginAt: Math.floor(suite.clock.now() / 1_000) });
    const { location } = (await alice.start("?elevate=1")).headers;
    expect(failureIn(await alice.callback(await suite.person().atProvider(location)))).toBe("other");
    suite.provider.loginAt = undefined;
    expect(expectDone(await alice.browser.call("GetSession"))).not.toHaveProperty("elevatedUntil");
    expect((await alice.browser.call("Elevate", { rootKey: suite.api.rootKey })).status).toBe(401);
    await expect
      .poll(async () => (await suite.entries({ resourceId: idOf("alice") })).map(({ event }) => event), { timeout: 10_000 })
      .toContain("console.elevate_failed");
  });

  test("[console §2.4] a provider that does not report the time of sign-in elevates nothing, and the log says so", async () => {
    const alice = await suite.signedIn("alice");
    const asked = new URL((await alice.start("?elevate=1")).headers.location ?? "");
    // This provider sends a time only when asked to.
    for (const name of ["max_age", "prompt"]) asked.searchParams.delete(name);
    expect(suite.logged()).not.toContain("auth_time");
    expect(failureIn(await alice.callback(await alice.atProvider(asked.href)))).toBe("stale");
    expect(suite.logged()).toContain("auth_time");
  });

  test("[console §2.4] a round elevates the session that began it, as it was then, and no other", async () => {
    const alice = await suite.signedIn("alice");
    Object.assign(suite.provider, { account: "alice", loginAt: Math.floor(suite.clock.now() / 1_000) });
    const address = await alice.atProvider((await alice.start("?elevate=1")).headers.location);
    const round = alice.cookies.get(roundCookie) ?? "";
    expectDone(await alice.browser.call("SignOut"));
    const late = await alice.callback(address);
    expect(failureIn(late)).toBe("expired");
    expect(late.headers["set-cookie"]).toHaveLength(1);
    // Stealing the authorization state does not give the thief a session.
    const thief = suite.person();
    thief.cookies.set(roundCookie, round);
    expect(failureIn(await thief.callback(address))).toBe("refused");
    expect(thief.cookies.has(sessionCookie)).toBe(false);
  });

  test("[console §2.4] without a session, and in one of a root key, there is nothing to elevate so", async () => {
    const nobody = suite.person();
    expect((await nobody.start("?elevate=1")).headers).toMatchObject({ location: "/ui/confirmed?oidc=expired" });
    await nobody.browser.signIn(suite.api.rootKey);
    const answer = await nobody.start("?elevate=1");
    expect([answer.headers.location, answer.headers["set-cookie"]]).toEqual(["/ui/confirmed?oidc=expired", undefined]);
  });

  test("[console §2.8] a person's session is on /ui/rpc only, and root keys sign in as before", async () => {
    const { browser } = await suite.signedIn("alice");
    const answer = await fetch(`${suite.api.url}/v2/apis.listApis`, {
      method: "POST",
      headers: { cookie: browser.cookie ?? "", "content-type": "application/json", host: new URL(publicUrl).host },
      body: "{}",
    });
    expect(answer.status).toBe(401);
    const other = suite.person();
    expectDone(await other.browser.signIn(suite.api.rootKey));
    expect(expectDone(await other.browser.call("GetSession"))).not.toHaveProperty("person");
  });
});
