import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
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

beforeAll(async () => {
  service = await startConsole();
  browser = await startBrowser();
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

const day = 86_400_000;

// The store is new here: this test is the first one.
test("[console §3] from the first start to the first verified key, by command, keyboard and form", { tags: "story" }, async () => {
  await using window = await openPage(browser);
  const { page, context, faults } = window;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { keyboard } = page;
  const command = page.getByRole("region", { name: "As a command" });
  const run = (text: string | null, key = "") => {
    const env = { PATH: process.env.PATH ?? "", ROOT_KEY: service.rootKey, KEY: key };
    return execFileSync("sh", ["-c", String(text).replace("curl ", "curl --silent --show-error ")], { env, encoding: "utf8" });
  };
  const current = page.locator("[aria-current=step]");

  await page.goto(`${service.url}/ui`);
  await signIn(page, service.rootKey);
  await current.getByRole("heading", { name: "Create an API" }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await overflow(page)).toBe(0);
  await page.setViewportSize({ width: 1280, height: 800 });

  // By command: the page notices.
  await page.getByLabel("Name").fill("by command");
  expect(run(await command.textContent())).toContain("api_");
  await current.getByRole("heading", { name: "Create a key" }).waitFor();
  await page.getByRole("link", { name: "by command" }).waitFor();

  // By keyboard: the focus is where the next step begins.
  await page.locator("input[name=name]:focus").waitFor();
  await keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "The new key" });
  await tabTo(page, "button", "Reveal");
  await keyboard.press("Tab");
  await dialog.locator("button:focus", { hasText: "Copy" }).waitFor();
  await keyboard.press("Enter");
  await page.getByText("Copied.").first().waitFor();
  const key = await page.evaluate<string>("navigator.clipboard.readText()");
  await keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.locator("input[name=key]:focus").waitFor();

  // By form: what is no key is said, and the right one is the end.
  await page.getByLabel("Key", { exact: true }).fill("not a key");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("NOT_FOUND").waitFor();
  const text = await command.textContent();
  expect(text).not.toContain(key);
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("The first key is verified").waitFor();
  const answer = JSON.parse(run(text, key)) as { data: { code: string } };
  expect(answer.data.code).toBe("VALID");
  expect(await accessibilityFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Show the overview" }).click();
  await page.getByRole("heading", { level: 2, name: "Now" }).waitFor();
  expect(await page.content()).not.toContain(key);
  // It does not come back.
  await expect
    .poll(async () => {
      await page.reload();
      await page.getByRole("heading", { level: 2 }).first().waitFor();
      return current.count();
    })
    .toBe(0);
  expect(faults).toEqual([]);
});

describe("[console §3] the overview of a store that is used", () => {
  beforeAll(async () => {
    const { data } = await service.call("apis.createApi", { name: "payments" });
    const create = async (body: object) => (await service.call("keys.createKey", { apiId: data.apiId, ...body })).data.key;
    const key = await create({ name: "plain", credits: { remaining: 1000 } });
    await create({ name: "ends soon", expires: Date.now() + 2 * day });
    await create({ name: "ends later", expires: Date.now() + 30 * day });
    await create({ name: "runs low", credits: { remaining: 7 } });
    await create({ name: "off and low", credits: { remaining: 3 }, enabled: false });
    for (const permissions of [undefined, "a.b", "c.d"]) await service.call("keys.verifyKey", { key, permissions });
    const usage = { kind: "verifications", start: Date.now() - day, end: Date.now() + day, granularity: "total", groupBy: ["outcome"] };
    await vi.waitFor(
      async () => {
        const counted = JSON.stringify((await service.call("analytics.getUsage", usage)).data);
        expect(counted).toContain('"outcome":"INSUFFICIENT_PERMISSIONS","count":2');
      },
      { timeout: 30_000, interval: 500 },
    );
  });

  test.each([
    ["light", 1280],
    ["dark", 320],
  ] as const)("figures, charts, keys that need somebody, and nodes: %s, %i pixels", async (colorScheme, width) => {
    await using window = await openPage(browser, { colorScheme, width });
    const { page, faults } = window;
    await openSignedIn(page, `${service.url}/ui?range=1h`, service.rootKey);
    // The deep link survives, with its range.
    await expect.poll(() => page.getByLabel("Time range").inputValue()).toBe("1h");
    await page.getByRole("row", { name: "INSUFFICIENT_PERMISSIONS 2 100%" }).waitFor();
    for (const chart of ["Verifications per second", "Latency", "Denials by reason"]) {
      const figure = page.locator("figure", { has: page.getByText(chart, { exact: true }) });
      await figure.locator("canvas").waitFor();
      expect(await figure.getByText("Table", { exact: true }).count()).toBe(1);
    }
    await page.getByRole("table", { name: "Keys that expire within 7 days" }).getByRole("link", { name: "ends soon" }).waitFor();
    await page.getByRole("table", { name: "Keys with fewer than 100 credits" }).getByRole("row", { name: "runs low" }).waitFor();
    expect(await page.getByRole("link", { name: /ends later|off and low|plain/ }).count()).toBe(0);
    await page.getByRole("link", { name: "of 1" }).first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);

    await page.goto(`${service.url}/ui/nodes`);
    await page.getByRole("table", { name: "Nodes" }).getByRole("row").nth(1).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
    expect(faults).toEqual([]);
  });

  test("[console §2.3] polling by the page does not keep the session alive", async () => {
    await using window = await openPage(browser);
    const { page } = window;
    await page.clock.install();
    await page.goto(`${service.url}/ui?range=1h`);
    await signIn(page, service.rootKey);
    await page.getByRole("table", { name: "Reasons of denials" }).waitFor();
    await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
    const asked: string[] = [];
    // Calls only: files of pages that are loaded ahead need no session.
    page.on("request", (request) => {
      if (request.url().includes("/ui/rpc/")) asked.push(`${request.headers()["x-latchkey-ui"]} ${request.url().replace(/.*\//, "")}`);
    });
    // Minutes and an hour: polls, and questions that are others now.
    await page.route("**/GetUsage", (route) => setTimeout(() => void route.continue(), 1000));
    const askedAgain = page.waitForRequest("**/GetUsage");
    await page.clock.fastForward("01:01:00");
    // Old data stays on the page until newer data arrives.
    await askedAgain;
    expect(await page.getByRole("table", { name: "Reasons of denials" }).isVisible()).toBe(true);
    await expect.poll(() => asked.length).toBeGreaterThan(6);
    expect(asked.filter((call) => !call.startsWith("background "))).toEqual([]);
  });

  test("a session that may not see the nodes reads which permission it lacks", async () => {
    const { data } = await service.call("rootKeys.createKey", {
      permissions: ["console.*.sign_in", "api.*.read_api", "api.*.read_key", "api.*.read_analytics"],
    });
    await using window = await openPage(browser);
    const { page } = window;
    await openSignedIn(page, `${service.url}/ui/nodes`, String(data.key));
    await page.getByText("node.*.read_node").waitFor();
    await page.goto(`${service.url}/ui`);
    await page.getByRole("heading", { level: 2, name: "Not permitted" }).waitFor();
    await page.getByRole("heading", { level: 2, name: "Verifications" }).waitFor();
  });
});
