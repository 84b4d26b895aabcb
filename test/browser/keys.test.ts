import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accessibilityFaults, openPage, openSignedIn, overflow, type SharedBrowser, startBrowser, startConsole } from "./console.ts";

let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;
let apiId: string;

interface NewKey {
  readonly keyId: string;
  readonly key: string;
}

const newKey = async (body: object): Promise<NewKey> =>
  (await service.call("keys.createKey", { apiId, ...body })).data as unknown as NewKey;

const readKey = async (keyId: string): Promise<Record<string, unknown>> => (await service.call("keys.getKey", { keyId })).data;

/** Opens a page of the console signed in. */
const open = async (page: Page, path: string): Promise<void> => {
  await openSignedIn(page, service.url + path, service.rootKey);
  await page.getByRole("button", { name: "Sign out" }).waitFor();
};

beforeAll(async () => {
  service = await startConsole({ ENCRYPTION_KEYS: `first:${Buffer.alloc(32, 7).toString("base64")}` });
  browser = await startBrowser();
  apiId = String((await service.call("apis.createApi", { name: "payments" })).data.apiId);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

describe("[console §3] for every theme and width", () => {
  let shown: NewKey;
  beforeAll(async () => {
    await service.call("permissions.createRole", { name: "reader", permissions: ["invoices.read"] });
    shown = await newKey({
      name: "shown",
      externalId: "customer.1",
      meta: { plan: "pro" },
      expires: 4_000_000_000_000,
      credits: { remaining: 1000, refill: { interval: "monthly", amount: 500, refillDay: 31 } },
      ratelimits: [{ name: "requests", limit: 100, duration: 60_000, autoApply: true }],
      roles: ["reader"],
      permissions: ["billing.*"],
    });
    for (const permissions of [undefined, "a.b"]) await service.call("keys.verifyKey", { key: shown.key, permissions });
    await newKey({ name: "plain" });
  });

  test.each([
    ["light", 1280],
    ["dark", 320],
  ] as const)("nothing to find for axe, no sideways scrolling, no violation of the CSP: %s, %i pixels", async (colorScheme, width) => {
    await using window = await openPage(browser, { colorScheme, width });
    const { page, faults } = window;
    await open(page, `/ui/keys/${shown.keyId}`);
    const check = async (): Promise<void> => {
      await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
    };
    await page.getByRole("row", { name: "requests" }).waitFor();
    await page.getByRole("row", { name: "billing.* the key" }).waitFor();
    await page.getByRole("row", { name: "invoices.read role reader" }).waitFor();
    await check();
    for (const tab of ["Activity", "Explain", "Try", "Audit", "Settings"]) {
      await page.getByRole("tab", { name: tab }).click();
      if (tab !== "Settings") await check();
    }
    for (const radio of await page.getByRole("radio", { name: "Set" }).all()) await radio.check();
    await check();
    for (const button of colorScheme === "light" ? ["Reroll", "Delete"] : ["Disable"]) {
      await page.getByRole("button", { name: button, exact: true }).click();
      await page.getByRole("dialog").waitFor();
      await check();
      await page.keyboard.press("Escape");
    }
    await page.goto(`${service.url}/ui/find`);
    await page.getByLabel("What to find").fill("shown");
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("row", { name: "shown" }).waitFor();
    await check();
    await page.goto(`${service.url}/ui/apis/${apiId}`);
    await page.getByRole("checkbox", { name: "Select plain" }).check();
    await page.getByRole("button", { name: "Create key" }).first().click();
    await page.getByRole("checkbox", { name: "Refill" }).check();
    await page.getByRole("button", { name: "Add limit" }).click();
    await check();
    expect(faults).toEqual([]);
  });
});

describe("[console §3] a key is edited", () => {
  const save = async (page: Page): Promise<void> => {
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  const full = {
    name: "before",
    externalId: "customer.2",
    meta: { plan: "free" },
    expires: 4_000_000_000_000,
    credits: { remaining: 10, refill: { interval: "daily", amount: 5 } },
    ratelimits: [{ name: "requests", limit: 10, duration: 60_000, autoApply: true }],
    permissions: ["invoices.write"],
  };

  test("in all three states of every nullable field", { tags: "story" }, async () => {
    const { keyId } = await newKey(full);
    await using window = await openPage(browser);
    const { page } = window;
    await open(page, `/ui/keys/${keyId}`);
    await page.getByRole("button", { name: "Edit" }).click();
    const group = (name: string) => page.getByRole("radiogroup", { name, exact: true });
    await group("Name").getByRole("radio", { name: "Keep (before)" }).waitFor();

    // Set, and keep what is not touched.
    const setTo = async (name: string, field: string, value: string) => {
      await group(name).getByRole("radio", { name: "Set" }).check();
      await page
        .locator(`input[type=text][name="${field}"], input[type=datetime-local][name="${field}"], textarea[name="${field}"]`)
        .fill(value);
    };
    await setTo("Name", "name", "after");
    await setTo("Identity", "externalId", "customer.3");
    await setTo("Expires", "expires", "2090-01-02T03:04");
    await setTo("Credits", "credits.remaining", "9,007,199,254,740,991");
    await setTo("Refill", "credits.refill.amount", "7");
    await page.locator('[name="credits.refill.interval"]').selectOption("monthly");
    await page.locator('[name="credits.refill.refillDay"]').fill("31");
    await setTo("Rate limits", "ratelimits[0].limit", "20");
    await page.locator('[name="ratelimits[0].duration"]').fill("2m");
    await page.getByRole("button", { name: "Save changes" }).click();
    const review = page.getByRole("dialog", { name: "Before → after" });
    await review.getByRole("row", { name: "name before after" }).waitFor();
    await review.getByRole("row", { name: "credits.remaining 10 9,007,199,254,740,991" }).waitFor();
    expect(await review.getByRole("region", { name: "The body" }).textContent()).toContain('"duration": 120000');
    expect(await review.textContent()).not.toContain("plan");
    await review.getByRole("button", { name: "Save changes" }).click();
    await group("Name").getByRole("radio", { name: "Keep (after)" }).waitFor();
    expect(await readKey(keyId)).toMatchObject({
      name: "after",
      identity: { externalId: "customer.3" },
      meta: { plan: "free" },
      expires: new Date("2090-01-02T03:04").getTime(),
      credits: { remaining: 9007199254740991, refill: { interval: "monthly", amount: 7, refillDay: 31 } },
      ratelimits: [{ name: "requests", limit: 20, duration: 120_000, autoApply: true }],
      permissions: ["invoices.write"],
    });
    await setTo("Meta", "meta", '{"plan": ');
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.locator("[name=meta][aria-invalid]").waitFor();
    await page.locator("textarea[name=meta]").fill('{"plan": "pro"}');
    await setTo("Permissions", "permissions", "invoices.write\ninvoices.read");
    await save(page);
    expect(await readKey(keyId)).toMatchObject({ meta: { plan: "pro" }, permissions: ["invoices.read", "invoices.write"] });
    // Wait for the saved version: until then the form has the ETag of the version before.
    await group("Meta")
      .getByRole("radio", { name: /^Keep .*pro/ })
      .waitFor();

    // Clear, named by its effect.
    for (const [name, clear] of [
      ["Name", "No name"],
      ["Identity", "No identity"],
      ["Expires", "Never expires"],
      ["Refill", "No refill"],
      ["Rate limits", "No rate limits"],
      ["Meta", "No meta"],
    ] as const) {
      await group(name).getByRole("radio", { name: clear }).check();
    }
    await save(page);
    const cleared = await readKey(keyId);
    for (const field of ["name", "identity", "expires", "ratelimits", "meta"]) expect(cleared).not.toHaveProperty(field);
    await group("Meta")
      .getByRole("radio", { name: /^Keep(?!.*pro)/ })
      .waitFor();
    expect(cleared.credits).toEqual({ remaining: 9007199254740991 });
    await group("Credits").getByRole("radio", { name: "Unlimited credits" }).check();
    await save(page);
    expect(await readKey(keyId)).not.toHaveProperty("credits");
  });

  test("never overwrites another editor's change; violations are shown at their fields", async () => {
    const { keyId } = await newKey({ name: "shared" });
    await using window = await openPage(browser);
    const { page } = window;
    await open(page, `/ui/keys/${keyId}?tab=settings`);
    const name = page.getByRole("radiogroup", { name: "Name", exact: true });
    await name.getByRole("radio", { name: "Set" }).check();
    await page.locator("input[type=text][name=name]").fill("x".repeat(256));
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
    await page.locator("input[type=text][name=name][aria-invalid]").waitFor();
    expect(await page.getByRole("alert").textContent()).toMatch(/req_/);
    await page.locator("input[type=text][name=name]").fill("mine");
    await service.call("keys.updateKey", { keyId, name: "theirs", enabled: false });
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
    const conflict = page.getByRole("dialog", { name: "Changed meanwhile" });
    await conflict.getByRole("row", { name: "name theirs mine" }).waitFor();
    expect((await readKey(keyId)).name).toBe("theirs");
    await conflict.getByRole("button", { name: "Keep mine and review" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
    await name.getByRole("radio", { name: "Keep (mine)" }).waitFor();
    expect(await readKey(keyId)).toMatchObject({ name: "mine", enabled: false });
  });

  test("a balance is lifted by its own choice alone, and the refill that goes is shown", async () => {
    const credits = { remaining: 5379, refill: { interval: "monthly", amount: 6000, refillDay: 1 } };
    const { keyId } = await newKey({ name: "refilled", credits });
    await using window = await openPage(browser);
    const { page } = window;
    await open(page, `/ui/keys/${keyId}`);
    await page.getByRole("button", { name: "Change balance" }).click();
    const dialog = page.getByRole("dialog", { name: "Change balance" });
    const save = dialog.getByRole("button", { name: "Save changes" });
    expect(await save.getAttribute("aria-disabled")).toBe("true");
    await dialog.getByLabel("Amount").press("Enter");
    await dialog.getByText("Enter an amount.").first().waitFor();
    expect((await readKey(keyId)).credits).toEqual(credits);
    await dialog.getByLabel("Amount").fill("5,400");
    expect(await dialog.getByRole("row").allTextContents()).toEqual(["FieldBeforeAfter", "credits.remaining5,3795,400"]);
    await dialog.getByLabel("Amount").fill("");
    expect(await save.getAttribute("aria-disabled")).toBe("true");
    await dialog.getByRole("radio", { name: "Unlimited credits, and no refill" }).check();
    await dialog.getByRole("row", { name: "credits.remaining 5,379 unlimited" }).waitFor();
    await dialog.getByRole("row", { name: "credits.refill 6,000 monthly, on day 1 none" }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await save.click();
    await dialog.waitFor({ state: "detached" });
    expect(await readKey(keyId)).not.toHaveProperty("credits");
  });

  test("its expiry begins empty and has to be in the future", async () => {
    const { keyId } = await newKey({ name: "for ever" });
    await using window = await openPage(browser);
    const { page } = window;
    await open(page, `/ui/keys/${keyId}?tab=settings`);
    await page.getByRole("radiogroup", { name: "Expires", exact: true }).getByRole("radio", { name: "Set" }).check();
    const save = page.getByRole("button", { name: "Save changes" });
    const expiry = page.getByLabel("Expiry", { exact: true });
    expect(await expiry.inputValue()).toBe("");
    expect(await save.getAttribute("aria-disabled")).toBe("true");
    await expiry.fill("2020-01-02T03:04");
    await page.locator("[name=expires][aria-invalid]").waitFor();
    await page.getByText("Expires must be in the future.").first().waitFor();
    expect(await save.getAttribute("aria-disabled")).toBe("true");
    await expiry.press("Enter");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await expiry.fill("2090-01-02T03:04");
    await save.click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await readKey(keyId)).expires).toBe(new Date("2090-01-02T03:04").getTime());
    await page.goto(`${service.url}/ui/apis/${apiId}`);
    await page.getByRole("button", { name: "Create key" }).first().click();
    const dialog = page.getByRole("dialog");
    await dialog.locator('[name="expires"]').fill("2020-01-02T03:04");
    await dialog.getByText("Expires must be in the future.").first().waitFor();
    expect(await dialog.getByRole("button", { name: "Create key" }).getAttribute("aria-disabled")).toBe("true");
    // A date that is half typed is not "never".
    await dialog.locator('[name="expires"]').fill("");
    await dialog.locator('[name="expires"]').focus();
    await page.keyboard.type("0102");
    await dialog.getByLabel("Name").fill("half a date");
    await dialog.getByRole("button", { name: "Create key" }).click();
    await dialog.locator('[name="expires"]:focus').waitFor();
    expect((await service.call("keys.searchKeys", { query: "half a date" })).data).toEqual([]);
  });

  test("its credits are set, added and subtracted, and it is disabled and enabled", async () => {
    const { keyId } = await newKey({ name: "spent", credits: { remaining: 10 } });
    await using window = await openPage(browser);
    const { page } = window;
    await open(page, `/ui/keys/${keyId}`);
    const dialog = page.getByRole("dialog");
    for (const [operation, amount, balance] of [
      ["Add", "5", "15"],
      ["Subtract", "20", "0"],
      ["Set to", "7", "7"],
    ] as const) {
      await page.getByRole("button", { name: "Change balance" }).click();
      await dialog.getByRole("radio", { name: operation }).check();
      await dialog.locator("input[type=text][name=value]").fill(amount);
      await dialog.getByRole("button", { name: "Save changes" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("region", { name: "Credits" }).getByText(balance, { exact: true }).waitFor();
      expect((await readKey(keyId)).credits).toEqual({ remaining: Number(balance) });
    }
    await page.getByRole("button", { name: "Disable" }).click();
    await dialog.getByRole("row", { name: "enabled true false" }).waitFor();
    await dialog.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Enable" }).waitFor();
    expect((await readKey(keyId)).enabled).toBe(false);
  });
});

test("[console §3] a denial is explained and fixed from its suggestion", async () => {
  const { keyId, key } = await newKey({ name: "denied", permissions: ["invoices.read"] });
  await using window = await openPage(browser);
  const { page, faults } = window;
  await open(page, `/ui/keys/${keyId}?tab=try`);
  await page.getByLabel("Secret").fill(key);
  await page.getByLabel("Permissions").fill("invoices.write");
  await page.getByRole("button", { name: "Verify" }).click();
  await page.getByText("INSUFFICIENT_PERMISSIONS").waitFor();
  await page.getByRole("link", { name: "Explain" }).click();
  expect(await page.content()).not.toContain(key);
  await page.getByRole("listitem").filter({ hasText: "permissions" }).filter({ hasText: "failed" }).first().waitFor();
  expect(new URL(page.url()).searchParams.get("permissions")).toBe("invoices.write");
  await page.getByRole("button", { name: "Review and apply" }).first().click();
  const review = page.getByRole("dialog", { name: "Before → after" });
  await review.getByRole("row", { name: "permissions invoices.read invoices.read, invoices.write" }).waitFor();
  await review.getByRole("button", { name: "Save changes" }).click();
  await page.getByRole("region", { name: "Explanation" }).getByText("✓ VALID").waitFor();
  expect(await page.getByRole("button", { name: "Review and apply" }).count()).toBe(0);
  expect((await service.call("keys.verifyKey", { key, permissions: "invoices.write" })).data).toMatchObject({ valid: true });
  await page.getByRole("tab", { name: "Audit" }).click();
  await page.getByRole("row", { name: "permissions" }).first().waitFor();
  expect(faults).toEqual([]);
});

test("[console §3] a key is rerolled with a grace period, and deleted after a word on its recent use", async () => {
  const { keyId, key } = await newKey({ name: "rerolled" });
  await service.call("keys.verifyKey", { key });
  await using window = await openPage(browser);
  const { page, context } = window;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, `/ui/keys/${keyId}`);
  await page.getByRole("button", { name: "Reroll" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("radio", { name: "In 1 hour" }).check();
  await dialog.getByRole("button", { name: "Reroll" }).click();
  await dialog.getByRole("button", { name: "Copy" }).click();
  await page.getByText("Copied.").first().waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(() => new URL(page.url()).pathname).not.toBe(`/ui/keys/${keyId}`);
  expect(await page.content()).not.toContain(copied);
  for (const each of [key, copied]) expect((await service.call("keys.verifyKey", { key: each })).data).toMatchObject({ valid: true });
  expect((await readKey(keyId)).expires).toBeGreaterThan(Date.now());
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByText(/verification.* in the last 24 hours|last use|ever used/i).waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { level: 1, name: "payments" }).waitFor();
  expect((await service.call("keys.verifyKey", { key: copied })).data).toMatchObject({ valid: false });
});

test("[console §2.4] the secret of a recoverable key is read again after the root key was entered again", async () => {
  const { keyId, key } = await newKey({ name: "recoverable", recoverable: true });
  await using window = await openPage(browser);
  const { page } = window;
  await open(page, `/ui/keys/${keyId}`);
  await page.getByRole("button", { name: "Decrypt" }).click();
  await page.getByRole("dialog", { name: "Decrypt key" }).getByRole("button", { name: "Decrypt" }).click();
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByLabel("Root key").fill(service.rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
  const shown = page.getByRole("dialog", { name: "The key" });
  await shown.getByRole("button", { name: "Reveal" }).waitFor();
  expect(await page.content()).not.toContain(key);
  await shown.getByRole("button", { name: "Reveal" }).click();
  expect(await shown.textContent()).toContain(key);
  // It is stored: leaving it uncopied asks nothing, and the page forgets it.
  await shown.getByRole("button", { name: "Close" }).click();
  await shown.waitFor({ state: "detached" });
  expect(await page.content()).not.toContain(key);
});

test("[console §3] a whole key that is pasted is found by the body of the request alone", async () => {
  const { keyId, key } = await newKey({ name: "pasted", externalId: "customer.9" });
  await using window = await openPage(browser);
  const { page } = window;
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url()));
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.postData()?.includes(key) === true) asked.push(new URL(request.url()).pathname);
  });
  await open(page, "/ui/find");
  for (const text of [key, keyId, "pasted", "customer.9", key.slice(-4)]) {
    await page.getByLabel("What to find").fill(text);
    await page.getByRole("button", { name: "Find" }).click();
    await page.getByRole("row", { name: "pasted" }).waitFor();
  }
  expect(addresses.filter((address) => address.includes(key))).toEqual([]);
  expect([...new Set(asked)]).toEqual(["/ui/rpc/latchkey.v2.KeysService/SearchKeys"]);
  await page.getByRole("link", { name: "pasted" }).click();
  await page.getByRole("heading", { level: 1, name: "pasted" }).waitFor();
});

test("[console §3] a key is created with all of its fields", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await open(page, `/ui/apis/${apiId}`);
  await page.getByRole("button", { name: "Create key" }).first().click();
  const dialog = page.getByRole("dialog");
  for (const [name, value] of Object.entries({
    name: "everything",
    prefix: "acme",
    externalId: "customer.all",
    expires: "2090-01-02T03:04",
    "credits.remaining": "100",
    permissions: "invoices.read",
    meta: '{"plan": "pro"}',
  })) {
    await dialog.locator(`[name="${name}"]`).fill(value);
  }
  await dialog.getByRole("checkbox", { name: "Refill" }).check();
  await dialog.locator('[name="credits.refill.amount"]').fill("5");
  await dialog.getByRole("button", { name: "Add limit" }).click();
  await dialog.locator('[name="ratelimits[0].name"]').fill("rl");
  await dialog.locator('[name="ratelimits[0].limit"]').fill("3");
  await dialog.getByRole("checkbox", { name: "Enabled" }).uncheck();
  await dialog.getByRole("button", { name: "Create key" }).click();
  // At least three characters: the violation is shown at the field of the row.
  await dialog.locator('[name="ratelimits[0].name"][aria-invalid]').waitFor();
  await dialog.locator('[name="ratelimits[0].name"]').fill("requests");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("button", { name: "Reveal" }).waitFor();
  const { data } = await service.call("keys.searchKeys", { query: "everything" });
  expect(data).toMatchObject([
    {
      name: "everything",
      enabled: false,
      identity: { externalId: "customer.all" },
      credits: { remaining: 100, refill: { interval: "daily", amount: 5 } },
      ratelimits: [{ name: "requests", limit: 3, duration: 60_000, autoApply: true }],
      meta: { plan: "pro" },
      permissions: ["invoices.read"],
    },
  ]);
});

test("[console §3] many keys: one call each, progress, and a list of what failed; more than ten need their number", async () => {
  const { data } = await service.call("apis.createApi", { name: "many" });
  const many = await Promise.all(
    Array.from(
      { length: 11 },
      async (_, index) => (await service.call("keys.createKey", { apiId: data.apiId, name: `key ${index}` })).data as unknown as NewKey,
    ),
  );
  await using window = await openPage(browser);
  const { page } = window;
  await open(page, `/ui/apis/${data.apiId}`);
  await page.getByRole("checkbox", { name: "Select all" }).check();
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Disable" }).click();
  const disable = dialog.getByRole("button", { name: "Disable" });
  expect(await disable.getAttribute("aria-disabled")).toBe("true");
  // Before their turns come one of them is gone, and another is not what was shown.
  await service.call("keys.deleteKey", { keyId: many[3]?.keyId });
  await service.call("keys.updateKey", { keyId: many[5]?.keyId, name: "key 5, theirs" });
  await dialog.getByLabel("Number of keys to confirm").fill("11");
  await disable.click();
  await dialog.getByText("9 of 11 disabled, 2 failed, finished.").waitFor();
  const failed = dialog.getByRole("list", { name: "Failed" });
  await failed.getByText(/key 3: .*req_/).waitFor();
  await failed.getByText(/key 5: This key has changed/).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.getByRole("cell", { name: "disabled" }).count()).toBe(9);
});

test("[console §3] a long list keeps the room of the rows that are not there, and is gone through by keyboard", async () => {
  const { data } = await service.call("apis.createApi", { name: "long" });
  for (let i = 0; i < 130; i += 1) await service.call("keys.createKey", { apiId: data.apiId, name: `row ${i}` });
  await using window = await openPage(browser);
  const { page } = window;
  await open(page, `/ui/apis/${data.apiId}`);
  await page.getByRole("link", { name: "row 0", exact: true }).waitFor();
  await page.getByRole("button", { name: "Load more" }).click();
  const table = page.getByRole("table", { name: "Keys" });
  await expect.poll(() => table.getAttribute("aria-rowcount")).toBe("131");
  const height = await table.evaluate((element) => element.getBoundingClientRect().height);
  expect(height).toBeGreaterThan(130 * 40);
  expect(await table.getByRole("row").count()).toBeLessThan(100);
  await page.getByRole("link", { name: "row 0", exact: true }).focus();
  await page.keyboard.press("End");
  await page.locator("a:focus", { hasText: /^row 129$/ }).waitFor();
  expect(await page.getByRole("link", { name: "row 0", exact: true }).count()).toBe(0);
  await page.keyboard.press("Home");
  await page.locator("a:focus", { hasText: /^row 0$/ }).waitFor();
});

test("[console §2.4] exporting the keys of an API asks for the root key again", async () => {
  const { data } = await service.call("apis.createApi", { name: "exported" });
  const made = (await service.call("keys.createKey", { apiId: data.apiId, name: "=SUM(1)" })).data;
  await using window = await openPage(browser);
  const { page } = window;
  await open(page, `/ui/apis/${data.apiId}`);
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("dialog", { name: "Export keys" }).getByRole("button", { name: "Download" }).click();
  const again = page.getByRole("dialog").filter({ has: page.getByLabel("Root key") });
  await again.getByLabel("Root key").fill(service.rootKey);
  const [download] = await Promise.all([page.waitForEvent("download"), again.getByRole("button", { name: "Confirm" }).click()]);
  expect(download.suggestedFilename()).toBe(`keys-${data.apiId}.csv`);
  const text = await readFile(await download.path(), "utf8");
  expect(text).toContain(String(made.keyId));
  // Anyone can choose a name, so it must not run as a formula.
  expect(text).toContain("'=SUM(1)");
  expect(text).not.toContain(String(made.key));
});
