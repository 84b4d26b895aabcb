import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";
import { writeDocumentation } from "../support/writeDocumentation.ts";
import { accessibilityFaults, openPage, overflow, type SharedBrowser, signIn, startBrowser } from "./console.ts";

// No store is asked for any of this.
const [engine] = engines;
let docsDirectory: string;
let api: Api;
let browser: SharedBrowser;

beforeAll(async () => {
  if (engine === undefined) throw new Error("there is no engine");
  docsDirectory = await writeDocumentation();
  api = await startApi(engine, { docsDirectory });
  browser = await startBrowser();
});

afterAll(async () => {
  await api?.close();
  await engine?.close();
  await rm(dirname(docsDirectory), { recursive: true });
});

describe.each([
  ["light", 320],
  ["dark", 1280],
] as const)("[console §1] the documentation for everybody: %s, %i pixels", (colorScheme, width) => {
  test("nothing to find for axe, no sideways scrolling, no violation of the CSP, no other host", async () => {
    await using window = await openPage(browser, { colorScheme, width });
    const { page, faults } = window;
    const elsewhere: string[] = [];
    page.on("request", (request) => {
      if (!request.url().startsWith(api.url)) elsewhere.push(request.url());
    });
    for (const path of ["", "/getting-started", "/reference/keys.createKey", "/nothing", "?q=key"]) {
      await page.goto(`${api.url}/docs${path}`);
      expect([path, await page.getByRole("heading", { level: 1 }).count()]).toEqual([path, 1]);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect([path, await overflow(page)]).toEqual([path, 0]);
    }
    expect(faults).toEqual([]);
    expect(elsewhere).toEqual([]);
  });
});

test("[console §1] a page is found by a search, read and left by links, without a script", async () => {
  await using context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${api.url}/docs`);
  await page.getByRole("searchbox", { name: "Search the documentation" }).fill("key not found");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: /^key_not_found/ }).click();
  await page.getByRole("heading", { level: 1, name: "key_not_found" }).waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Errors" }).click();
  await page.getByRole("heading", { level: 1, name: "Errors" }).waitFor();
  await page.getByRole("navigation", { name: "All pages" }).getByRole("link", { name: "Getting started" }).click();
  await page.getByRole("navigation", { name: "On this page" }).getByRole("link", { name: "Start it" }).last().click();
  expect(new URL(page.url()).hash).toBe("#start-it-1");
});

test("[console §1] in a narrow window the other pages and the headings are behind their names", async () => {
  await using window = await openPage(browser, { width: 320 });
  const { page } = window;
  await page.goto(`${api.url}/docs/getting-started`);
  const pages = page.getByRole("navigation", { name: "All pages" });
  expect(await pages.getByRole("link").count()).toBe(0);
  await pages.getByText("All pages").click();
  await pages.getByRole("link", { name: "Procedures" }).click();
  await page.getByRole("heading", { level: 1, name: "Procedures" }).waitFor();
});

test("[console §1] the console leads to it: from an error to its page, from the help to all of it", async () => {
  await using window = await openPage(browser);
  const { page, context } = window;
  const opened = async (name: string) => {
    const popup = context.waitForEvent("page");
    await page.getByRole("link", { name }).click();
    return popup;
  };
  await page.goto(`${api.url}/ui/sign-in`);
  await signIn(page, "lkr_wrong");
  const explanation = await opened("What this error means");
  await explanation.getByRole("heading", { level: 1, name: "sign_in_failed" }).waitFor();
  expect(explanation.url()).toBe(`${api.url}/docs/errors/unkey/console/sign_in_failed`);
  await page.bringToFront();
  await signIn(page, api.rootKey);
  await page.getByRole("button", { name: "Help" }).click();
  const index = await opened("documentation");
  await index.getByRole("heading", { level: 1, name: "Latchkey" }).waitFor();
});
