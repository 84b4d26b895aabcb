import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { accessibilityFaults, openPage, openSignedIn, type SharedBrowser, startBrowser } from "./console.ts";

let service: ServiceProcess;
let rootKey: string;
let dataDir: string;
let browser: SharedBrowser;

/** Starts the service, again on the port that it had. */
const start = async (port: string): Promise<void> => {
  service = await startService({ env: { CONSOLE: "on", PORT: port }, dataDir });
};

const startAgain = (): Promise<void> => start(new URL(service.url).port);

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "latchkey-outage-"));
  await start("0");
  rootKey = await service.rootKey();
  browser = await startBrowser();
});

afterAll(async () => {
  await service?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Documents that the window has loaded: navigation adds none. */
let documents = 0;
beforeEach(() => {
  documents = 0;
});

const openNodes = async (page: Page): Promise<void> => {
  await openSignedIn(page, `${service.url}/ui/nodes`, rootKey);
  await page.getByRole("row").nth(1).waitFor();
  page.on("request", (request) => {
    if (request.isNavigationRequest()) documents += 1;
  });
};

const follow = (page: Page, title: string): Promise<void> =>
  page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: title, exact: true }).click();

const silent = (page: Page) => page.getByRole("status").filter({ hasText: "The service does not answer. Retrying…" }).first();

const fileLoaded = (page: Page, file: string): Promise<boolean> =>
  page.evaluate(`performance.getEntriesByType("resource").some(({ name }) => name.includes("/ui/a/${file}-"))`);

test("[console §3] a page that was not opened before opens while the service is stopped, and continues once it is back", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  await openNodes(page);
  // The pages are loaded while nothing else happens: the last of them, too.
  for (const file of ["AuditPage", "AnalyticsPage", "FindPage"]) await expect.poll(() => fileLoaded(page, file)).toBe(true);
  await service.stop();
  await follow(page, "Audit");
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await silent(page).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await startAgain();
  await page.getByText("Created root key").first().waitFor();
  expect(await page.getByText("The service does not answer.").count()).toBe(0);
  expect(documents).toBe(0);
  expect(faults).toEqual([]);
});

test("[console §1] a page or a tab whose file is missing waits for the service, and is shown with its style once it is back", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  // Nothing is loaded ahead in a browser that is never idle.
  await page.addInitScript("window.requestIdleCallback = () => 0");
  await openNodes(page);
  expect(await fileLoaded(page, "AuditPage")).toBe(false);
  await service.stop();
  await follow(page, "Audit");
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await silent(page).waitFor();
  await follow(page, "Nodes");
  await page.getByRole("heading", { level: 1, name: "Nodes" }).waitFor();
  await follow(page, "Settings");
  await silent(page).waitFor();
  await startAgain();
  await page.getByRole("row", { name: /^This one/ }).waitFor();
  await follow(page, "Audit");
  await page.getByText("Created root key").first().waitFor();
  // Every style sheet that the document names was loaded.
  expect(await page.evaluate(`[...document.querySelectorAll("link[rel=stylesheet]")].filter(({ sheet }) => sheet === null).length`)).toBe(
    0,
  );
  expect(documents).toBe(0);
  expect(faults).toEqual([]);
});
