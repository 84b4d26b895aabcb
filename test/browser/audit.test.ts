import { readFile } from "node:fs/promises";
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
} from "./console.ts";

let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;
let keyId: string;

beforeAll(async () => {
  service = await startConsole();
  browser = await startBrowser();
  const { data } = await service.call("apis.createApi", { name: "payments" });
  keyId = String((await service.call("keys.createKey", { apiId: data.apiId, name: "first" })).data.keyId);
  await service.call("keys.updateKey", { keyId, name: "second" });
  const logged = async () => ((await service.call("audit.getLogs", { event: ["key.update"] })).data as unknown as object[]).length;
  await vi.waitFor(async () => expect(await logged()).toBe(1), { timeout: 30_000 });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

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
  await openSignedIn(page, `${service.url}/ui/audit`, service.rootKey);
  await page.getByRole("table", { name: "Audit log" }).waitFor();
  await check();
  await page.getByRole("link", { name: "key.update" }).click();
  await page.getByRole("dialog", { name: "key.update" }).waitFor();
  await check();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("The chain is intact:").waitFor();
  await check();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("dialog", { name: "Export the audit log" }).waitFor();
  await check();
  expect(faults).toEqual([]);
});

test("[console §3] an entry is found by its filters, shows before → after, and has a deep link", { tags: "story" }, async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/audit`, service.rootKey);
  await page.locator("[name=resourceId]").fill(keyId);
  await expect.poll(() => page.getByRole("row").count()).toBe(3);
  expect(new URL(page.url()).searchParams.get("resourceId")).toBe(keyId);
  await page.getByRole("link", { name: "key.update" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "key.update" });
  await dialog.getByRole("row", { name: "name first second" }).waitFor();
  const link = new URL(page.url());
  // It opens with other filters too: its time finds it.
  link.searchParams.set("resourceId", "key_other");

  await using other = await openPage(browser);
  await other.page.goto(link.href);
  await signIn(other.page, service.rootKey);
  await other.page.getByRole("dialog").getByRole("row", { name: "name first second" }).waitFor();
  await other.page.keyboard.press("Escape");
  await other.page.getByText("No entry matches.").waitFor();
  expect(new URL(other.page.url()).searchParams.has("entry")).toBe(false);
});

test("[console §3] the chain is verified with progress", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/audit`, service.rootKey);
  await page.getByRole("button", { name: "Verify" }).click();
  const dialog = page.getByRole("dialog", { name: "Verify the chain" });
  const { data } = await service.call("audit.verifyChain", {});
  await dialog.getByText(`${data.checked} entries are unchanged`).waitFor();
  await page.route("**/VerifyChain", () => undefined);
  await dialog.getByRole("button", { name: "Verify again" }).click();
  await dialog.getByRole("progressbar").waitFor();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await dialog.getByText("Stopped after 0 entries").waitFor();
});

test("[console §2.4] exporting the log asks for the root key again", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/audit?event=key.update`, service.rootKey);
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("radio", { name: "NDJSON" }).check();
  await page.getByRole("button", { name: "Download" }).click();
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByRole("button", { name: "Close" }).click();
  await page.getByText("Nothing was done").waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await elevation.getByLabel("Root key").fill(service.rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
  const rows = (await readFile(await (await download).path(), "utf8")).trim().split("\n");
  const shown = (await service.call("audit.getLogs", { event: ["key.update"] })).data;
  expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual(shown);
});

test("[console §3] without the permission the page names it", async () => {
  const { data } = await service.call("rootKeys.createKey", { name: "no log", permissions: ["console.*.sign_in"] });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/audit`, String(data.key));
  await page.getByRole("heading", { name: "Not permitted" }).waitFor();
  await page.getByText("audit.*.read_audit_log").first().waitFor();
  expect(await page.getByRole("button", { name: "Verify" }).getAttribute("aria-disabled")).toBe("true");
});
