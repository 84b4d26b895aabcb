// @same-on-every-engine
import { describe, expect, test } from "vitest";
import { altered, failureIn, oidcSuite } from "../../support/oidcSuite.ts";
import { engines } from "../../support/stores.ts";

describe.each(engines)("coming back from the identity provider on $name", (engine) => {
  const suite = oidcSuite(engine);

  const { returning } = suite;

  test("[console §2.8] with two rounds in one browser the later one continues, and the earlier one is not a failure", async () => {
    suite.provider.account = "alice";
    const person = suite.person();
    const first = await person.atProvider((await person.start()).headers.location);
    const second = await person.atProvider((await person.start("?next=%2Fui%2Ffind")).headers.location);
    for (let i = 0; i < 12; i++) {
      const answer = await person.callback(first);
      expect([failureIn(answer), answer.headers["set-cookie"]]).toEqual(["expired", undefined]);
    }
    expect(failureIn(await person.callback(altered(second, { state: "x".repeat(43) })))).toBe("expired");
    expect((await person.callback(second)).headers.location).toBe("/ui/find");
  });

  test.each([
    ["login_required", "denied"],
    ["interaction_required", "denied"],
    ["consent_required", "denied"],
    ["account_selection_required", "denied"],
    ["server_error", "away"],
    ["temporarily_unavailable", "away"],
    ["invalid_scope", "refused"],
    ["unauthorized_client", "refused"],
  ])("[console §2.8] the provider's error %s is shown as %s, and logged unless the person was denied", async (error, word) => {
    const { person, address } = await returning("");
    expect(failureIn(await person.callback(altered(address, { error })))).toBe(word);
    expect(suite.logged().includes(error)).toBe(word !== "denied");
  });

  test("[console §2.7] a failing provider counts as no failed sign-in", async () => {
    const address = "198.51.100.8";
    for (let i = 0; i < 11; i++) {
      suite.provider.account = "";
      const person = suite.person(suite.api, address);
      const back = await person.atProvider((await person.start()).headers.location);
      expect(failureIn(await person.callback(altered(back, { error: "server_error" })))).toBe("away");
    }
    suite.provider.account = "alice";
    expect((await suite.person(suite.api, address).signIn()).headers.location).toBe("/ui");
  });

  test("[console §2.2] over plain HTTP the refusal names the setting, for browsers without Sec-Fetch headers too", async () => {
    const headers = { "x-forwarded-proto": "http", "sec-fetch-site": undefined, "sec-fetch-dest": undefined };
    const { address } = await returning();
    for (const answer of [await suite.person().start("", headers), await suite.person().callback(address, headers)]) {
      expect([answer.status, answer.headers["content-type"]]).toEqual([403, "text/html; charset=utf-8"]);
      expect(answer.text).toContain("set TLS_CERT and TLS_KEY, or TRUSTED_PROXIES with X-Forwarded-Proto");
      expect(answer.headers).toMatchObject({ "cache-control": "no-store", "x-request-id": expect.stringMatching(/^req_/) });
    }
  });

  test("[console §2.8] where too many sign in at the same time, people are sent to a page that says so", async () => {
    const beside = await suite.startBeside({});
    suite.provider.trouble = 503;
    const answers = await Promise.all(Array.from({ length: 80 }, () => suite.person(beside, "198.51.100.9").start("?next=%2Fui%2Ffind")));
    suite.provider.trouble = undefined;
    const locations = new Set(answers.map(({ headers }) => headers.location));
    expect([...locations].sort()).toEqual(["away", "busy"].map((word) => `/ui/sign-in?oidc=${word}&next=%2Fui%2Ffind`));
  });
});
