import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { openConsoleSession } from "../../bench/harness/consoleSession.ts";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";

/** The real service with its console, and what a test asks of it. */
interface ConsoleService extends AsyncDisposable {
  readonly url: string;
  readonly rootKey: string;
  /** Calls a procedure on /v2 with the root key. */
  readonly call: (procedure: string, body: object) => Promise<{ readonly data: Record<string, unknown> }>;
}

/** A window of the browser that collects what must not happen. */
export interface ConsolePage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Violations of the CSP, errors that no code caught: expected to be empty. */
  readonly faults: readonly string[];
}

export interface PageOptions {
  readonly colorScheme?: "light" | "dark";
  /** Pixels. */
  readonly width?: number;
}

interface Database {
  readonly url: string;
  /** Made beforehand, as by the command line: the service does not write one to a file here. */
  readonly rootKey: string;
}

/** A new database on the server of `MONGODB_URL`, where `LATCHKEY_TEST_ENGINE=mongo` asks for that engine. */
const newDatabase = async (): Promise<Database | undefined> => {
  const { MONGODB_URL: server, LATCHKEY_TEST_ENGINE: engine } = process.env;
  if (engine !== "mongo") return undefined;
  if (!server) throw new Error("LATCHKEY_TEST_ENGINE=mongo needs the URL of a server in MONGODB_URL.");
  const url = freshMongoUrl(server);
  return { url, rootKey: await createRootKeyOn({ MONGODB_URL: url }) };
};

/**
 * Starts the service with the console on: on the embedded store, or on `newDatabase`. `LATCHKEY_CONSOLE_URL` with `ROOT_KEY` names one that
 * runs already, such as the development server.
 * @param env settings beside those
 */
export const startConsole = async (env: Readonly<Record<string, string>> = {}): Promise<ConsoleService> => {
  const { LATCHKEY_CONSOLE_URL: given, ROOT_KEY: givenKey = "" } = process.env;
  const database = given === undefined ? await newDatabase() : undefined;
  const settings = { CONSOLE: "on", ANALYTICS: "embedded", MONGODB_URL: database?.url, ...env };
  const service = given === undefined ? await startService({ env: settings }) : undefined;
  const url = service?.url ?? given ?? "";
  const rootKey = database?.rootKey ?? (await service?.rootKey()) ?? givenKey;
  return {
    url,
    rootKey,
    call: async (procedure, body) => {
      const answer = await fetch(`${process.env.LATCHKEY_URL ?? url}/v2/${procedure}`, {
        method: "POST",
        headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(200);
      return (await answer.json()) as { data: Record<string, unknown> };
    },
    [Symbol.asyncDispose]: async () => {
      await service?.[Symbol.asyncDispose]();
      if (database !== undefined) await dropMongoDatabase(database.url);
    },
  };
};

/** The browser without `close`: later test files use the same one. */
export type SharedBrowser = Pick<Browser, "newContext">;

let launched: Promise<SharedBrowser> | undefined;

/** As Debian installs them; the first needs a fifth less of the processor, since it has no windows to draw. */
const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** The browser of this worker, which all of its files share and which ends with it: `CHROMIUM`, or one that is installed. */
export const startBrowser = (): Promise<SharedBrowser> => {
  launched ??= chromium.launch({
    executablePath: process.env.CHROMIUM ?? installed.find((path) => existsSync(path)) ?? "/usr/bin/chromium",
    // The sandbox needs what containers do not give; only our own pages are opened. Without a GPU one would be emulated.
    // They share a process, since each takes a second to begin, and what draws them is no process of its own either: a sixth less of the
    // processor for the whole suite. A page is left within seconds: to optimize its scripts takes longer than it saves.
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      "--disable-gpu",
      "--renderer-process-limit=1",
      "--in-process-gpu",
      "--js-flags=--no-maglev,--no-turbofan",
    ],
  });
  return launched;
};

interface Window {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Faults in the present test. */
  faults: string[];
  /** Functions that remove the listeners of the present test. */
  readonly listeners: (() => void)[];
  /** There is something at it that only its end takes away. */
  isChanged: boolean;
  isInUse: boolean;
}

const newWindow = async (browser: SharedBrowser): Promise<Window> => {
  const context = await browser.newContext();
  const page = await context.newPage();
  const window: Window = { page, context, faults: [], listeners: [], isChanged: false, isInUse: true };
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) window.faults.push(message.text());
  });
  page.on("pageerror", (error) => window.faults.push(String(error)));
  // Scripts and clocks stay at a page.
  const noting = <A extends unknown[], T>(method: (...args: A) => T) => {
    return (...args: A): T => {
      window.isChanged = true;
      return method(...args);
    };
  };
  type Listen = (event: "close", listener: () => void) => Page;
  const listening = (method: Listen): Listen => {
    return (event, listener) => {
      window.listeners.push(() => page.off(event, listener));
      return method(event, listener);
    };
  };
  page.on = listening(page.on.bind(page)) as Page["on"];
  page.once = listening(page.once.bind(page)) as Page["once"];
  page.addInitScript = noting(page.addInitScript.bind(page));
  page.clock.install = noting(page.clock.install.bind(page.clock));
  return window;
};

/** Clears the storage of a page, which cookies are not part of. */
const forgetting = "try { localStorage.clear(); sessionStorage.clear(); } catch {}";

/** Resets a window: no other page, no session, no permissions, nothing stored but cached files. */
const reset = async ({ page, context, listeners }: Window): Promise<void> => {
  for (const remove of listeners.splice(0)) remove();
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.evaluate(forgetting);
  await page.goto("about:blank");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await Promise.all([context.clearCookies(), context.clearPermissions()]);
};

/** The window that the tests of this worker have one after the other: a process that draws pages takes a second to begin. */
let kept: Window | undefined;

/** Opens a window. @param browser is shared by the tests of a file */
export const openPage = async (browser: SharedBrowser, { colorScheme = "light", width = 1280 }: PageOptions = {}): Promise<ConsolePage> => {
  const window = kept === undefined || kept.isInUse ? await newWindow(browser) : kept;
  const { page, context } = window;
  window.isInUse = true;
  window.faults = [];
  kept ??= window;
  await Promise.all([page.emulateMedia({ colorScheme, reducedMotion: "reduce" }), page.setViewportSize({ width, height: 800 })]);
  const close = async (): Promise<void> => {
    if (kept === window) kept = undefined;
    await context.close();
  };
  return {
    page,
    context,
    faults: window.faults,
    [Symbol.asyncDispose]: async () => {
      if (kept !== window || window.isChanged) return close();
      await reset(window).then(
        () => {
          window.isInUse = false;
        },
        // A test that failed may leave anything behind.
        close,
      );
    },
  };
};

/** Signs in on the page that is shown, by names alone. */
export const signIn = async (page: Page, rootKey: string): Promise<void> => {
  await page.getByLabel("Root key").fill(rootKey);
  await page.getByRole("button", { name: "Sign in" }).click();
};

/**
 * Opens a page of the console with a session that was begun without the form of signing in: for tests of what comes after it. The form, and
 * The form and its page would double the CPU time of such a test.
 */
export const openSignedIn = async (page: Page, address: string, rootKey: string): Promise<void> => {
  const { origin } = new URL(address);
  const { cookie } = await openConsoleSession(origin, rootKey);
  const end = cookie.indexOf("=");
  const session = { name: cookie.slice(0, end), value: cookie.slice(end + 1) };
  await page.context().addCookies([{ ...session, url: origin, httpOnly: true, sameSite: "Strict" }]);
  await page.goto(address);
};

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[];
}

/** The minified form: every loaded page gets it again. */
const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

const axeOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  // Leave out the descriptions of passed checks.
  resultTypes: ["violations"],
};

/**
 * Lists the faults that axe finds on the page, in words; expected to be empty. It looks at the page's own frame only: the console has
 * no others, and the search for frames would double the time.
 */
export const accessibilityFaults = async (page: Page): Promise<readonly string[]> => {
  expect(page.frames()).toHaveLength(1);
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe);
  const violations = await page.evaluate<readonly Violation[]>(
    `axe.run(document, ${JSON.stringify(axeOptions)}).then(({ violations }) => violations)`,
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${help}: ${target.join(" ")} ${failureSummary}`),
  );
};

/** The width of the page minus that of its window, in pixels; expected to be 0. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");

/** Presses Tab until the element with this role and name has the focus. Fails after a round of the page. */
export const tabTo = async (page: Page, role: Parameters<Page["getByRole"]>[0], name: string): Promise<void> => {
  const wanted = page.getByRole(role, { name, exact: true }).first();
  await wanted.waitFor();
  for (let presses = 0; presses < 80; presses += 1) {
    if (await wanted.evaluate((element) => element.matches(":focus"))) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab never reaches the ${role} “${name}”`);
};
