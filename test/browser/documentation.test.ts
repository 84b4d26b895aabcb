import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Api, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";
import { writeDocumentation } from "../support/writeDocumentation.ts";
import { accessibilityFaults, openPage, overflow, type SharedBrowser, signIn, startBrowser } from "./console.ts";

// No store is asked for any of this.
const [engine] = engines;
let documentationFiles: string;
let api: Api;
let browser: SharedBrowser;

beforeAll(async () => {
  if (engine === undefined) throw new Error("there is no engine");
  documentationFiles = await writeDocumentation();
  api = await startApi(engine, { documentationFiles });
  browser = await startBrowser();
});

afterAll(async () => {
  await api?.close();
  await engine?.close();
  await rm(dirname(documentationFiles), { recursive: true });
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
      if (path.startsWith("?")) await page.locator("mark").first().waitFor();
      expect([path, await page.getByRole("heading", { level: 1 }).count()]).toEqual([path, 1]);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect([path, await overflow(page)]).toEqual([path, 0]);
    }
    expect(faults).toEqual([]);
    expect(elsewhere).toEqual([]);
  });
});

test("[console §1] a page is found by a search, with the keyboard alone, read and left by links", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  await page.goto(`${api.url}/docs`);
  await page.getByRole("searchbox", { name: "Search the documentation" }).fill("key not found");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Search results for “key not found”" }).waitFor();
  await page.getByRole("status").getByText("results").waitFor();
  expect(await page.getByRole("searchbox").inputValue()).toBe("key not found");
  expect(await page.title()).toContain("Search results for key not found");
  await page.getByRole("link", { name: /^key_not_found/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "key_not_found" }).waitFor();
  await page.getByRole("navigation", { name: "Breadcrumb" }).getByRole("link", { name: "Errors" }).click();
  await page.getByRole("heading", { level: 1, name: "Errors" }).waitFor();
  await page.getByRole("navigation", { name: "All pages" }).getByRole("link", { name: "Getting started" }).click();
  await page.getByRole("navigation", { name: "On this page" }).getByRole("link", { name: "Start it" }).last().click();
  expect(new URL(page.url()).hash).toBe("#start-it-1");
  expect(faults).toEqual([]);
});

test("[console §1] a search shows a query as text, and says when it finds nothing", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  const query = '"><img src=x onerror=alert(1)> zzzqqq';
  await page.goto(`${api.url}/docs?${new URLSearchParams({ q: query })}`);
  await page.getByRole("status").getByText("result").waitFor();
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe(`Search results for “${query}”`);
  expect(await page.locator("img").count()).toBe(0);
  // HTML in a page is plain text in its excerpt.
  await page.goto(`${api.url}/docs?q=alert`);
  await page.getByRole("listitem").locator("mark").first().waitFor();
  expect(await page.locator("article script").count()).toBe(0);
  await page.goto(`${api.url}/docs?q=zzzqqq`);
  await page.getByRole("status").getByText("No results.").waitFor();
  expect(faults).toEqual([]);
});

test("[console §1] a search whose index cannot be loaded says so", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await page.route("**/*-sections.json", (route) => route.abort());
  await page.goto(`${api.url}/docs?q=key`);
  await page.getByRole("status").getByText("Reload this page").waitFor();
});

test("[console §1] without scripts all pages are read and found by links", async () => {
  await using context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${api.url}/docs`);
  await page.getByRole("searchbox", { name: "Search the documentation" }).fill("key not found");
  await page.keyboard.press("Enter");
  await page.locator("noscript a").click();
  await page.getByRole("heading", { level: 1, name: "Latchkey" }).waitFor();
  await page.getByRole("navigation", { name: "All pages" }).getByRole("link", { name: "Getting started" }).click();
  await page.getByRole("heading", { level: 1, name: "Getting started" }).waitFor();
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
  const explanation = await opened("About this error");
  await explanation.getByRole("heading", { level: 1, name: "sign_in_failed" }).waitFor();
  expect(explanation.url()).toBe(`${api.url}/docs/errors/unkey/console/sign_in_failed`);
  await page.bringToFront();
  await signIn(page, api.rootKey);
  await page.getByRole("button", { name: "Help" }).click();
  const index = await opened("documentation");
  await index.getByRole("heading", { level: 1, name: "Latchkey" }).waitFor();
});
