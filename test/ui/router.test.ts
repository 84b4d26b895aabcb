import { describe, expect, test } from "vitest";
import { afterSignIn, signInAddress } from "../../ui/src/router/afterSignIn.ts";
import { idTarget } from "../../ui/src/router/idTarget.ts";
import { matchPath } from "../../ui/src/router/matchPath.ts";

describe("[console §3] every page has a deep link", () => {
  test.each([
    ["/ui/apis", "/ui/apis", {}],
    ["/ui/apis", "/ui/apis/", {}],
    ["/ui/apis/:id", "/ui/apis/api_1", { id: "api_1" }],
    ["/ui/identities/:externalId", "/ui/identities/a.b%2Fc%20d", { externalId: "a.b/c d" }],
    ["/ui/apis/:id", "/ui/apis", undefined],
    ["/ui/apis/:id", "/ui/apis/a/b", undefined],
    ["/ui/apis/:id", "/ui/apis//", undefined],
    ["/ui/apis/:id", "/ui/apis/%E0%A4%A", undefined],
  ])("%s matches %s: %o", (pattern, path, params) => {
    expect(matchPath(pattern, path)).toEqual(params);
  });

  test("it survives sign-in, with filters, tab and range", () => {
    const wanted = "/ui/apis/api_1?tab=analytics&range=7d";
    const address = new URL(signInAddress(wanted), "http://console");
    expect(address.pathname).toBe("/ui/sign-in");
    expect(afterSignIn(address.searchParams.get("next"))).toBe(wanted);
  });

  test.each([
    null,
    "",
    "/",
    "//evil.example/ui",
    "https://evil.example/ui",
    "/ui/../v2",
    "/ui/sign-in?next=/ui",
    "/uix",
    "/ui\\..",
    "/ui/../../evil",
  ])("signing in leads to no other place than the console: %s", (next) => {
    expect(afterSignIn(next)).toBe("/ui");
  });
});

test("[console §3] the palette opens the page of a pasted id", () => {
  const routes = [
    { path: "/ui/apis" },
    { path: "/ui/apis/:id", idPrefix: "api_" },
    { path: "/ui/x", idPrefix: "rk_", idPath: "/ui/x?key=:id" },
  ];
  expect(idTarget(" api_12345678 ", routes)).toBe("/ui/apis/api_12345678");
  expect(idTarget("rk_12345678", routes)).toBe("/ui/x?key=rk_12345678");
  expect(idTarget("key_12345678", routes)).toBeUndefined();
  expect(idTarget("api_1/../../x", routes)).toBeUndefined();
});
