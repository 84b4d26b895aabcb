import { readFile } from "node:fs/promises";
import type { Download, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import {
  accessibilityFaults,
  openPage,
  openSignedIn,
  overflow,
  type SharedBrowser,
  signIn,
  startBrowser,
  startConsole,
  tabTo,
} from "./console.ts";

let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;
let apiId: string;

const byOutcome = "SELECT outcome, count() AS count FROM key_verifications_v1 GROUP BY outcome ORDER BY count DESC";

beforeAll(async () => {
  service = await startConsole();
  browser = await startBrowser();
  apiId = String((await service.call("apis.createApi", { name: "payments" })).data.apiId);
  const { data } = await service.call("keys.createKey", { apiId, externalId: "ada" });
  for (const permissions of [undefined, undefined, "a.b"])
    await service.call("keys.verifyKey", { key: data.key, permissions, tags: ["web"] });
  await service.call("ratelimit.limit", { namespace: "logins", identifier: "ada", limit: 10, duration: 60_000 });
  const seen = async () => ((await service.call("analytics.getVerifications", { query: byOutcome })).data as unknown as object[]).length;
  await vi.waitFor(async () => expect(await seen()).toBe(2), { timeout: 60_000, interval: 1000 });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

const sqlAddress = (query: string): string => `${service.url}/ui/sql?${new URLSearchParams({ query })}`;

const saved = async (download: Promise<Download>): Promise<string> => readFile(await (await download).path(), "utf8");

/** Answers the dialog that asks for the root key again (console §2.4). */
const confirmRootKey = async (page: Page): Promise<void> => {
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByLabel("Root key").fill(service.rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
};

test.each([
  ["light", 1280],
  ["dark", 320],
] as const)("[console §3] for everybody: %s, %i pixels", async (colorScheme, width) => {
  await using window = await openPage(browser, { colorScheme, width });
  const { page, faults } = window;
  const check = async (): Promise<void> => {
    await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
  };
  await openSignedIn(page, `${service.url}/ui/analytics?range=1h`, service.rootKey);
  await page.getByRole("table", { name: "Verifications by key" }).waitFor();
  await check();
  await page.goto(`${service.url}/ui/analytics?tag=nobody`);
  await page.getByRole("button", { name: "Show 30 days" }).waitFor();
  await check();
  await page.goto(sqlAddress(byOutcome));
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("rowheader", { name: "VALID" }).waitFor();
  await page.getByRole("textbox", { name: "Query" }).press("Control+Space");
  await page.getByRole("listbox").waitFor();
  await check();
  expect(faults).toEqual([]);
});

test("[console §3] SQL is completed, run, drawn and run again, by keyboard", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  const { keyboard } = page;
  await openSignedIn(page, `${service.url}/ui/sql`, service.rootKey);
  await tabTo(page, "textbox", "Query");
  await keyboard.press("Control+a");
  await keyboard.type("SELECT outcome, count() AS count FROM key_verif");
  await page.getByRole("option", { name: "key_verifications_v1" }).waitFor();
  // The editor ignores keys at the moment when the list appears.
  await page.waitForTimeout(300);
  await keyboard.press("Enter");
  expect(await page.getByRole("textbox", { name: "Query" }).textContent()).toMatch(/key_verifications_\w+$/);
  await keyboard.press("Control+a");
  await keyboard.insertText(byOutcome);
  await keyboard.press("Control+Enter");
  await page.getByRole("row", { name: "VALID 2" }).waitFor();
  expect(new URL(page.url()).searchParams.get("query")).toBe(byOutcome);
  await page.getByText(/queries and .* seconds, until/).waitFor();
  await tabTo(page, "tab", "Table");
  await keyboard.press("ArrowRight");
  await page.getByRole("table", { name: "Result by name" }).waitFor();
  expect(new URL(page.url()).searchParams.get("view")).toBe("chart");

  await page.getByRole("textbox", { name: "Query" }).fill("SELECT nothing FROM key_verifications_v1");
  await page.getByRole("button", { name: "Run" }).click();
  expect(await page.getByRole("alert").textContent()).toMatch(/nothing.*req_/);
  // The first query is in the history, and can be put back into the editor.
  await page.getByRole("button", { name: `Edit: ${byOutcome}` }).click();
  await expect.poll(() => page.getByRole("textbox", { name: "Query" }).textContent()).toBe(byOutcome);
  expect(faults).toEqual([]);
});

test("[console §3] a query is cancelled", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await page.route("**/GetVerifications", () => undefined);
  await openSignedIn(page, sqlAddress(byOutcome), service.rootKey);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText(/· cancelled/).waitFor();
  expect(await page.getByRole("button", { name: "Run" }).getAttribute("aria-disabled")).toBeNull();
});

test("[console §2.4] saving the rows of a query asks for the root key again", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await page.goto(sqlAddress(byOutcome));
  await signIn(page, service.rootKey);
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByRole("button", { name: "Export" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await confirmRootKey(page);
  expect(await saved(download)).toBe("outcome,count\r\nVALID,2\r\nINSUFFICIENT_PERMISSIONS,1\r\n");
});

test("[console §3] figures are brushed, narrowed down, saved and opened as SQL", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/analytics?range=1h`, service.rootKey);
  await page.getByText("3 verifications, 66.7% VALID").waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "CSV: Verifications by key" }).click();
  expect(await saved(download)).toMatch(/^keyId,count,.*\r\nkey_\w+,3,/);
  await page.locator("[name=kind]").selectOption("ratelimits");
  await page.getByRole("table", { name: "Rate limit checks by identifier" }).getByRole("link", { name: "ada" }).waitFor();
  await page.locator("[name=kind]").selectOption("verifications");
  await page.getByRole("tab", { name: "APIs" }).click();
  await page.getByRole("table", { name: "Verifications by API" }).getByRole("link", { name: "payments", exact: true }).click();
  await expect.poll(() => page.getByLabel("API ID").inputValue()).toBe(apiId);

  const plot = page.locator(".u-over").first();
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error("the chart has no place");
  await page.mouse.move(box.x + box.width / 2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, box.y + 40, { steps: 4 });
  await page.mouse.up();
  await page.getByRole("button", { name: "Reset zoom" }).waitFor();
  expect(new URL(page.url()).searchParams.get("start")).toMatch(/^\d+$/);
  await page.getByRole("button", { name: "Reset zoom" }).click();

  await page.getByRole("link", { name: "Open as SQL: Verifications by outcome" }).click();
  await page.getByRole("heading", { level: 1, name: "SQL" }).waitFor();
  await page.getByRole("button", { name: "Run" }).click();
  await page.getByText("Result over time").waitFor();
  await page.getByRole("list", { name: "Lines" }).getByText("INSUFFICIENT_PERMISSIONS").waitFor();
});

test("[console §3] without the permission the page names it", async () => {
  const { data } = await service.call("rootKeys.createKey", { name: "no figures", permissions: ["console.*.sign_in"] });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/analytics`, String(data.key));
  await page.getByRole("heading", { name: "Not permitted" }).first().waitFor();
  await page.getByText("api.*.read_analytics").first().waitFor();
});
