/**
 * `npm run docs:pictures`: makes the pictures of the documentation anew, of the real console over a week of example data,
 * and prints how large they are. Needs Chromium (`CHROMIUM`, default /usr/bin/chromium), the built pages (`npm run ui:build`)
 * and the embedded analytics engine.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { chromium, type Page } from "playwright-core";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { type Call, fillExampleWeek } from "./exampleWeek.ts";

const directory = join(import.meta.dirname, "../pictures");
const DAY = 86_400_000;
const WIDTH = 1280;
/** Of WebP, 0 to 100. */
const QUALITY = 82;

await using service = await startService({ args: ["--test-clock"], env: { CONSOLE: "on", ANALYTICS: "embedded" } });
const rootKey = await service.rootKey();

const call: Call = async <T>(procedure: string, body: unknown): Promise<T> => {
  const answer = await fetch(`${service.url}/v2/${procedure}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const envelope = (await answer.json()) as { readonly data: T };
  if (answer.status !== 200) throw new Error(`${procedure}: ${JSON.stringify(envelope)}`);
  return envelope.data;
};
const week = await fillExampleWeek(call);

// Somebody is always there: without callers the figures of the present moment would be zero.
let done = false;
const callers = (async () => {
  // A call whose connection was closed in between is one caller less.
  for (let seed = 1; !done; seed += 1) await Promise.allSettled([week.verify(seed), setTimeout(60)]);
})();

/** One picture: an address of the console, how high it is, and what has to be done before. */
interface Shot {
  readonly name: string;
  readonly path: string;
  readonly height: number;
  /** A selector of what has to be there. */
  readonly shown: string;
  readonly dark?: boolean;
  readonly prepare?: (page: Page) => Promise<void>;
}

const explain = async (page: Page): Promise<void> => {
  await page.getByLabel("Permissions").first().fill("tiles.read AND invoices.write");
  await page.getByRole("button", { name: "Explain" }).last().click();
  await page.getByText("INSUFFICIENT_PERMISSIONS").first().waitFor();
};

const verifier = async (page: Page): Promise<void> => {
  await page.getByRole("textbox", { name: "Name" }).fill("checkout");
  await page.getByRole("button", { name: "Verifier" }).click();
};

const shots: readonly Shot[] = [
  { name: "console", path: "/ui?range=1h", height: 980, shown: ".uplot canvas" },
  { name: "console-dark", path: "/ui?range=1h", height: 980, shown: ".uplot canvas", dark: true },
  { name: "key", path: `/ui/keys/${week.keyId}`, height: 900, shown: "table" },
  { name: "explain", path: `/ui/keys/${week.keyId}?tab=explain`, height: 900, shown: "form", prepare: explain },
  { name: "analytics", path: `/ui/analytics?start=${week.until - 6 * DAY}&end=${week.until}`, height: 900, shown: ".uplot canvas" },
  { name: "root-key", path: "/ui/root-keys/new", height: 900, shown: "input[type=checkbox]", prepare: verifier },
];

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
await mkdir(directory, { recursive: true });
let total = 0;
for (const { name, path, height, shown, dark = false, prepare } of shots) {
  await using context = await browser.newContext({
    viewport: { width: WIDTH, height },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
    timezoneId: "UTC",
  });
  const page = await context.newPage();
  await page.goto(`${service.url}/ui/sign-in`);
  await page.getByLabel("Root key").fill(rootKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith("/sign-in"));
  await page.goto(`${service.url}${path}`);
  await page.locator(shown).first().waitFor();
  await prepare?.(page);
  // The figures of the present moment need two readings of the node's.
  await page.waitForTimeout(8000);
  const session = await context.newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
  const bytes = Buffer.from(data, "base64");
  await writeFile(join(directory, `${name}.webp`), bytes);
  total += bytes.length;
  console.log(`${name}.webp ${Math.ceil(bytes.length / 1024)} KiB`);
}
done = true;
await callers;
await browser.close();
console.log(`${Math.ceil(total / 1024)} KiB in all`);
