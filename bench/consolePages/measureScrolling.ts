import { chromium, type Page } from "playwright-core";
import type { ConsolePopulation } from "./populateForConsole.ts";

/** How often "Load more" is pressed: two thousand rows. */
const LOADS = 20;
const SCROLLS = 60;

/** What somebody felt who went through a list. */
export interface Scrolled {
  readonly page: string;
  /** As many as were loaded. */
  readonly rows: number;
  /** Of the main thread, ms; the browser tells of those of 50 ms and more. 0: none. */
  readonly longest: number;
  /** All of those together, ms. */
  readonly blocked: number;
}

/** Notes long tasks from now on, in the page. */
const watchTasks = (page: Page): Promise<void> =>
  page.evaluate(`{
    globalThis.longTasks = [];
    new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
  }`);

interface LongList {
  readonly path: string;
  /** The accessible name of the table. */
  readonly table: string;
  /** What is typed into the page's search first. */
  readonly find?: string;
}

/** Loads rows and scrolls through all of them. */
const scroll = async (page: Page, url: string, { path, table, find }: LongList): Promise<Scrolled> => {
  await page.goto(url + path);
  if (find !== undefined) {
    await page.getByLabel("What to find").fill(find);
    await page.getByRole("button", { name: "Find", exact: true }).click();
  }
  const list = page.getByRole("table", { name: table });
  await list.getByRole("row").nth(1).waitFor();
  await watchTasks(page);
  const rows = async (): Promise<number> => Number(await list.getAttribute("aria-rowcount")) - 1;
  for (let i = 0; i < LOADS; i++) {
    const before = await rows();
    const more = page.getByRole("button", { name: "Load more" });
    if ((await more.count()) === 0) break;
    await more.click();
    while ((await rows()) === before) await page.waitForTimeout(20);
  }
  const scroller = page.locator(".scrolls", { has: list });
  for (let i = 1; i <= SCROLLS; i++) {
    await scroller.evaluate("(element, share) => element.scrollTo({ top: element.scrollHeight * share })", i / SCROLLS);
    await page.waitForTimeout(16);
  }
  const tasks = await page.evaluate<number[]>("globalThis.longTasks");
  return { page: path, rows: await rows(), longest: Math.max(0, ...tasks), blocked: tasks.reduce((sum, each) => sum + each, 0) };
};

/** Goes through the long lists of the console in a browser. */
export const measureScrolling = async (
  url: string,
  cookie: string,
  { apiId, namespace }: ConsolePopulation,
): Promise<readonly Scrolled[]> => {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // The sandbox needs what containers do not give; only our own pages are opened.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const [name = "", value = ""] = cookie.split("=");
    await context.addCookies([{ name, value, url, httpOnly: true, sameSite: "Strict" }]);
    const page = await context.newPage();
    const lists: readonly LongList[] = [
      { path: `/ui/apis/${apiId}`, table: "Keys" },
      { path: "/ui/find", find: "key 9", table: "Keys found" },
      { path: "/ui/identities", table: "Identities" },
      { path: "/ui/access", table: "Roles" },
      { path: "/ui/access?tab=permissions", table: "Permissions" },
      { path: `/ui/limits/${namespace}`, table: "Overrides" },
      { path: "/ui/root-keys", table: "Root keys" },
      { path: "/ui/audit", table: "Audit log" },
    ];
    const scrolled: Scrolled[] = [];
    for (const list of lists) scrolled.push(await scroll(page, url, list));
    return scrolled;
  } finally {
    await browser.close();
  }
};
