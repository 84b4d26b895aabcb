import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  accessibilityFaults,
  openPage,
  openSignedIn,
  overflow,
  type SharedBrowser,
  signIn,
  startBrowser,
  startConsole,
} from "./console.ts";

let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;

beforeAll(async () => {
  service = await startConsole({ ANALYTICS: "off" });
  browser = await startBrowser();
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

/** Waits for the shell, which shows that a person is signed in. */
const signedIn = (page: Page) => page.getByRole("button", { name: "Sign out" }).waitFor();

const tabs = ["sessions", "theme", "keyboard", "migrations"];

describe.each([
  ["light", 320],
  ["dark", 1280],
] as const)("[console §3] settings for everybody: %s, %i pixels", (colorScheme, width) => {
  test("nothing to find for axe, no sideways scrolling, no violation of the CSP", async () => {
    await using window = await openPage(browser, { colorScheme, width });
    const { page, faults } = window;
    await openSignedIn(page, `${service.url}/ui/settings`, service.rootKey);
    await signedIn(page);
    for (const tab of tabs) {
      await page.goto(`${service.url}/ui/settings?tab=${tab}`);
      await page.getByRole("tab", { selected: true }).waitFor();
      await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
    }
    await page.getByRole("button", { name: "Create migration" }).first().click();
    await page.getByRole("dialog").waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(faults).toEqual([]);
  });
});

test("[console §2.3] sessions are listed and ended: the other window is asked to sign in, and continues where it was", async () => {
  await using mine = await openPage(browser);
  await using other = await openPage(browser);
  await other.page.goto(`${service.url}/ui/apis?search=pay.ments`);
  await signIn(other.page, service.rootKey);
  await signedIn(other.page);
  await mine.page.goto(`${service.url}/ui/settings`);
  await signIn(mine.page, service.rootKey);
  const rows = mine.page.getByRole("table", { name: "Sessions" }).getByRole("row");
  await mine.page.getByText("This one:").waitFor();
  const before = await rows.count();
  // Latest first: the first row is mine, the second the other window's.
  await rows.nth(2).getByRole("button", { name: "End" }).click();
  await expect.poll(() => rows.count()).toBe(before - 1);
  await other.page.reload();
  await other.page.getByLabel("Root key").waitFor();
  await signIn(other.page, service.rootKey);
  await expect.poll(() => other.page.getByLabel("Search").inputValue()).toBe("pay.ments");
  expect(new URL(other.page.url()).pathname).toBe("/ui/apis");

  // All others at once, and then mine.
  await mine.page.reload();
  await mine.page.getByRole("button", { name: "End all others" }).click();
  await expect.poll(() => rows.count()).toBe(2);
  await other.page.goto(`${service.url}/ui/settings`);
  await other.page.getByLabel("Root key").waitFor();
  await mine.page.getByRole("button", { name: "End this session" }).click();
  await mine.page.getByLabel("Root key").waitFor();
  expect(await mine.context.cookies()).toEqual([]);
});

test("[console §2.3] signing out ends the session, takes the cookie back and empties the browser's cache", { tags: "story" }, async () => {
  await using window = await openPage(browser);
  const { page, context } = window;
  await page.goto(`${service.url}/ui/settings`);
  await signIn(page, service.rootKey);
  await signedIn(page);
  const [cookie] = await context.cookies();
  const cookies = [{ ...cookie, name: String(cookie?.name), value: String(cookie?.value) }];
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });

  // A service that does not answer has ended nothing, and the page says so.
  await page.route("**/*.ConsoleService/SignOut", (route) => route.abort());
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("You are still signed in.").first().waitFor();
  await page.unroute("**/*.ConsoleService/SignOut");

  const answer = page.waitForResponse("**/*.ConsoleService/SignOut");
  await page.getByRole("button", { name: "Sign out" }).click();
  const headers = await (await answer).allHeaders();
  expect(headers["clear-site-data"]).toBe('"cache"');
  expect(headers["set-cookie"]).toContain("Max-Age=0");
  await page.getByLabel("Root key").waitFor();
  expect(await context.cookies()).toEqual([]);
  // A copy of the cookie is useless.
  await context.addCookies(cookies);
  await page.goto(`${service.url}/ui/settings`);
  await page.getByLabel("Root key").waitFor();
});

test("[console §3] the theme is chosen, and kept by the browser", async () => {
  await using window = await openPage(browser, { colorScheme: "light" });
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/settings?tab=theme`, service.rootKey);
  const background = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
  const theme = page.getByRole("radiogroup", { name: "Theme" });
  await theme.getByRole("radio", { name: "Same as the device", checked: true }).waitFor();
  const light = await background();
  await theme.getByRole("radio", { name: "Dark" }).check();
  await expect.poll(background).not.toBe(light);
  await page.reload();
  await theme.getByRole("radio", { name: "Dark", checked: true }).waitFor();
  expect(await background()).not.toBe(light);
});

test("[management §7] a migration is created, listed and deleted", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/settings?tab=migrations`, service.rootKey);
  const dialog = page.getByRole("dialog");
  await page.getByText("No migration is registered.").waitFor();
  await page.getByRole("button", { name: "Create migration" }).first().click();
  await dialog.getByLabel("Name").fill("n".repeat(256));
  await dialog.getByRole("button", { name: "Create migration" }).click();
  await dialog.locator("[name=name][aria-invalid]").waitFor();
  expect(await dialog.getByRole("alert").textContent()).toMatch(/req_/);
  await dialog.getByLabel("Name").fill("old system");
  await dialog.getByLabel("Algorithm").selectOption("github.com/seamapi/prefixed-api-key");
  await dialog.getByRole("button", { name: "Create migration" }).click();
  const row = page.getByRole("row", { name: "old system mig_" });
  await row.waitFor();
  expect(await row.textContent()).toContain("github.com/seamapi/prefixed-api-key");
  await row.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByText("No migration is registered.").waitFor();
});

test("[console §3] where analytics is off, the overview says how to turn it on, and shows the rest", async () => {
  const { data } = await service.call("apis.createApi", { name: "payments" });
  const { key } = (await service.call("keys.createKey", { apiId: data.apiId, name: "used" })).data;
  await service.call("keys.verifyKey", { key });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui`, service.rootKey);
  // As soon as the key is known to be used, and however the page came there.
  const overview = page.getByRole("button", { name: "Show the overview" }).or(page.getByRole("heading", { name: "Analytics is off" }));
  await overview.waitFor();
  if (await page.getByRole("button", { name: "Show the overview" }).isVisible()) {
    await page.getByRole("button", { name: "Show the overview" }).click();
  }
  await page.getByText("ANALYTICS=embedded").waitFor();
  const reasons = page.locator(".note").filter({ hasText: "This node runs without analytics." });
  for (const text of ["npm ci without --omit=optional", "CLICKHOUSE_URL", "ANALYTICS=off"]) {
    expect(await reasons.first().textContent()).toContain(text);
  }
  await page.getByRole("heading", { name: "Now" }).waitFor();
});

// The last one: the address of the tests may not sign in for a minute after it.
test("[console §2.7] all refused keys get the same message, and after ten of them even the right one has to wait", async () => {
  const { data } = await service.call("rootKeys.createKey", { permissions: ["api.*.read_api"] });
  await using window = await openPage(browser);
  const { page } = window;
  await page.goto(`${service.url}/ui/nodes`);
  const alert = page.getByRole("alert");
  const told = async (rootKey: string): Promise<string> => {
    const answer = page.waitForResponse("**/*.ConsoleService/SignIn");
    await signIn(page, rootKey);
    await answer;
    await expect.poll(() => page.getByLabel("Root key").inputValue()).toBe("");
    return ((await alert.textContent()) ?? "").replace(/req_\w+/, "");
  };
  const words = await told("lkr_unknown");
  expect(words).toContain("This root key cannot sign in");
  expect(await told(String(data.key))).toBe(words);
  for (let failure = 2; failure < 10; failure += 1) await told("lkr_unknown");
  expect(await told(service.rootKey)).toContain("Too many sign-ins from this address failed");
  expect(await page.getByRole("button", { name: "Sign in" }).getAttribute("aria-disabled")).toBe("true");
  expect(await accessibilityFaults(page)).toEqual([]);
});
