import { afterAll, beforeAll, expect, test } from "vitest";
import { startProvider, type TestProvider } from "../support/identityProvider.ts";
import { accessibilityFaults, openPage, overflow, type SharedBrowser, startBrowser, startConsole, tabTo } from "./console.ts";

let provider: TestProvider;
let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;

beforeAll(async () => {
  provider = await startProvider({ platform: ["*"] });
  provider.accounts.set("alice", { name: "Alice", groups: ["platform"] });
  provider.accounts.set("carol", { name: "Carol", groups: ["staff"] });
  service = await startConsole({ ANALYTICS: "off", ...provider.env });
  provider.serve(service.url);
  browser = await startBrowser();
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
});

test("[console §2.8] a person whom the provider sends back without success continues with a root key", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  await page.goto(`${service.url}/ui/sign-in?oidc=denied&next=%2Fui%2Fconfirmed`);
  await page.getByLabel("Root key").fill(service.rootKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("Your identity was not confirmed").waitFor();
  expect(page.url()).toBe(`${service.url}/ui/confirmed`);
  expect(faults).toEqual([]);
});

test("[console §2.8] a person signs in, makes a root key after signing in again, and signs out, by keyboard alone", async () => {
  await using window = await openPage(browser);
  const { page, context, faults } = window;
  const host = new URL(provider.issuer).host;
  await page.goto(`${service.url}/ui/root-keys/new`);

  // The page explains it to a person without a mapping, who gets no session.
  provider.account = "carol";
  await tabTo(page, "link", `Sign in with ${host}`);
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("your account has no permissions here").waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await context.clearCookies();

  provider.account = "alice";
  await tabTo(page, "link", `Sign in with ${host}`);
  await page.keyboard.press("Enter");
  // The page that was wanted, and nothing of the way there in its address.
  await page.getByRole("heading", { name: "New root key" }).waitFor();
  expect(page.url()).toBe(`${service.url}/ui/root-keys/new`);

  await tabTo(page, "textbox", "Name");
  await page.keyboard.type("by a person");
  await page.getByRole("checkbox", { name: "api.*.read_api", exact: true }).press("Space");
  await page.getByRole("button", { name: "Create root key" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
  const confirm = dialog.getByRole("link", { name: `Confirm with ${host}` });
  await confirm.waitFor();
  expect(await confirm.evaluate((link) => link.matches(":focus"))).toBe(true);
  expect(await accessibilityFaults(page)).toEqual([]);
  const opened = context.waitForEvent("page");
  await page.keyboard.press("Enter");
  const other = await opened;
  await other.getByText("Your identity is confirmed for five minutes").waitFor();
  expect(await accessibilityFaults(other)).toEqual([]);
  await other.close();

  // The pending action continues by itself.
  const secret = page.getByRole("dialog", { name: "The new root key" });
  page.on("dialog", (question) => void question.accept());
  await secret.getByRole("button", { name: "Close" }).press("Enter");
  await page.getByRole("table").getByText("by a person").first().waitFor();

  // A failed authorization is reported with a session as well, and confirms nothing.
  await page.goto(`${service.url}/ui/sign-in?oidc=expired`);
  await page.getByRole("alert").getByText("The sign-in took too long").waitFor();
  await page.getByText("Your identity was not confirmed").waitFor();
  expect(page.url()).toBe(`${service.url}/ui/confirmed?oidc=expired`);

  await page.goto(`${service.url}/ui/settings`);
  await page.getByText("Your sessions as Alice of").waitFor();
  await page.goto(`${service.url}/ui/audit`);
  await page.getByRole("table").getByText("Alice").first().waitFor();

  await tabTo(page, "button", "Sign out");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: `Sign in with ${host}` }).waitFor();
  expect((await context.cookies(service.url)).filter(({ name }) => name.startsWith("latchkey"))).toEqual([]);
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await overflow(page)).toBe(0);
  expect(faults).toEqual([]);
});
