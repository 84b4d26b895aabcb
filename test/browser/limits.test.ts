import { afterAll, beforeAll, expect, test } from "vitest";
import { accessibilityFaults, openPage, openSignedIn, overflow, type SharedBrowser, startBrowser, startConsole } from "./console.ts";

let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;
let namespaceId: string;
let key: { readonly keyId: string; readonly key: string };

const check = (identifier: string, facts: object = {}) =>
  service.call("ratelimit.limit", { namespace: "logins", identifier, limit: 5, duration: 60_000, ...facts });

const namespaceNamed = async (name: string): Promise<string> => {
  const { data } = await service.call("ratelimit.listNamespaces", { search: name });
  return String((data as unknown as { id: string; name: string }[]).find((namespace) => namespace.name === name)?.id);
};

const overrides = async () => (await service.call("ratelimit.listOverrides", { namespace: namespaceId })).data as unknown as object[];

beforeAll(async () => {
  [service, browser] = await Promise.all([startConsole(), startBrowser()]);
  for (const identifier of ["user_1", "premium_1", "premium_7", "premium_7", "premium_7", "premium_7", "premium_7", "premium_7"])
    await check(identifier);
  namespaceId = await namespaceNamed("logins");
  await service.call("ratelimit.setOverride", { namespace: namespaceId, identifier: "premium_1", limit: 9, duration: 60_000 });
  const { data: api } = await service.call("apis.createApi", { name: "payments" });
  key = (await service.call("keys.createKey", { apiId: api.apiId, name: "first" })).data as unknown as typeof key;
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

test("[console §3] an override is previewed and set, edited without overwriting another change, and deleted", async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  await openSignedIn(page, `${service.url}/ui/limits`, service.rootKey);
  await page.getByRole("link", { name: "logins" }).click();
  await page.getByRole("button", { name: "Set override" }).click();
  const dialog = page.getByRole("dialog", { name: "Set override" });
  await dialog.getByLabel("Identifier", { exact: true }).fill("premium_*");
  await dialog.getByLabel("Limit").fill("1,000");
  await dialog.getByLabel("Duration").fill("1h");
  // premium_1 has an override of its own, which is more exact.
  const preview = dialog.getByRole("region", { name: "Which identifiers match" });
  await preview.getByText("1 of 3 seen in the last 24 hours").waitFor();
  expect(await preview.getByRole("list", { name: "Taken by this override" }).textContent()).toBe("premium_7");
  expect(await preview.getByRole("list", { name: "Kept by another override" }).textContent()).toBe("premium_1 by premium_1");
  await preview.getByLabel("Compare with").fill("premium_new");
  await preview.getByText("2 of 4").waitFor();
  await dialog.getByRole("button", { name: "Set override" }).click();
  const review = page.getByRole("dialog", { name: "Before → after" });
  await review.getByRole("row", { name: "duration none 1 hour" }).waitFor();
  expect(await review.getByRole("region", { name: "The body" }).textContent()).toContain('"duration": 3600000');
  expect(await overrides()).toHaveLength(1);
  await review.getByRole("button", { name: "Set override" }).click();
  await page.getByRole("row", { name: "premium_* 1,000 1 hour" }).waitFor();

  // Another person changes it during the edit.
  await page.getByRole("button", { name: "Edit premium_*" }).click();
  const edit = page.getByRole("dialog", { name: "Edit override" });
  await edit.getByLabel("Limit").fill("0");
  await service.call("ratelimit.setOverride", { namespace: namespaceId, identifier: "premium_*", limit: 7, duration: 60_000 });
  await edit.getByRole("button", { name: "Save changes" }).click();
  await review.getByRole("row", { name: "limit 1,000 0 (blocks)" }).waitFor();
  await review.getByRole("button", { name: "Save changes" }).click();
  const conflict = page.getByRole("dialog", { name: "Changed meanwhile" });
  await conflict.getByRole("row", { name: "limit 7 0 (blocks)" }).waitFor();
  await conflict.getByRole("row", { name: "duration 1 minute 1 hour" }).waitFor();
  await conflict.getByRole("button", { name: "Keep mine and review" }).click();
  await review.getByRole("button", { name: "Save changes" }).click();
  await page.getByRole("row", { name: "premium_* 0 blocks 1 hour" }).waitFor();

  // The violation appears at its field.
  await page.getByRole("button", { name: "Edit premium_*" }).click();
  await edit.getByLabel("Duration").fill("10");
  await edit.getByRole("button", { name: "Save changes" }).click();
  await review.getByRole("button", { name: "Save changes" }).click();
  await edit.locator("[name=duration][aria-invalid]:focus").waitFor();
  expect(await edit.getByRole("alert").textContent()).toMatch(/req_/);
  await edit.getByRole("button", { name: "Close" }).click();

  await page.getByRole("button", { name: "Delete premium_*" }).click();
  const removal = page.getByRole("dialog", { name: "Delete override" });
  await removal.getByText("It limits 1 of the identifiers").waitFor();
  await removal.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("row", { name: "premium_*" }).waitFor({ state: "detached" });
  expect(await overrides()).toHaveLength(1);
  expect(faults).toEqual([]);
});

test("[console §3] live counters, busiest identifiers and a check by hand", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/limits/logins?tab=try`, service.rootKey);
  await page.getByLabel("Identifier").fill("by hand");
  await page.getByLabel("Duration").fill("1d");
  await page.getByLabel("Limit").fill("2");
  await page.getByLabel("Cost").fill("2");
  for (const result of ["passed 0 of 2", "denied 0 of 2"]) {
    await page.getByRole("button", { name: "Try", exact: true }).click();
    await page.getByRole("row", { name: `by hand ${result}` }).waitFor();
  }
  await page.getByRole("tab", { name: "Identifiers" }).click();
  await page.getByLabel("Begins with").fill("by ");
  const counters = page.getByRole("table", { name: "Counters" });
  await counters.getByRole("row", { name: "by hand 1 day 2 of each check 2 0" }).waitFor();
  await expect.poll(() => counters.getByRole("row").count()).toBe(2);
  expect(new URL(page.url()).searchParams.get("identifier")).toBe("by ");
  const busiest = page.getByRole("table", { name: "Busiest identifiers" });
  await expect
    .poll(async () => {
      await page.reload();
      await busiest.or(page.getByText("No limit of this namespace was checked")).first().waitFor();
      return busiest.getByRole("row", { name: "premium_7 6 1" }).count();
    })
    .toBe(1);
});

test("[console §3] a filter typed as soon as its field appears counts", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/limits/logins?tab=try`, service.rootKey);
  await page.getByRole("tab", { name: "Identifiers" }).waitFor();
  await page.evaluate(`new MutationObserver((_, observer) => {
    const field = document.querySelector("input[name=identifier][type=search]");
    if (field === null) return;
    observer.disconnect();
    field.value = "user_";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }).observe(document, { childList: true, subtree: true })`);
  await page.getByRole("tab", { name: "Identifiers" }).click();
  await expect.poll(() => new URL(page.url()).searchParams.get("identifier")).toBe("user_");
  expect(await page.getByLabel("Begins with").inputValue()).toBe("user_");
});

test("[console §3] the denials of another limit are replayed while the slider moves, and it becomes an override", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/limits/${namespaceId}?tab=what-if&pattern=premium_*`, service.rootKey);
  // As it was: five of six passed.
  await page.getByText("1 of 7 checks denied").waitFor();
  const slider = page.getByRole("slider", { name: "Limit" });
  for (let presses = 0; presses < 3; presses += 1) await slider.press("ArrowLeft");
  await page.getByText("4 of 7 checks denied").waitFor();
  expect(new URL(page.url()).searchParams.get("limit")).toBe("2");
  await page
    .getByRole("table", { name: "Identifiers that would have been denied" })
    .getByRole("row", { name: "premium_7 6 1 4" })
    .waitFor();
  await page.getByText("budget chunks that nodes take are not replayed").waitFor();
  await page.getByRole("button", { name: "Set as override" }).click();
  const dialog = page.getByRole("dialog", { name: "Set override" });
  expect(await dialog.getByLabel("Identifier", { exact: true }).inputValue()).toBe("premium_*");
  expect(await dialog.getByLabel("Limit").inputValue()).toBe("2");
});

test("[console §3] the tail shows a verification within seconds, and a pause holds", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/tail`, service.rootKey);
  await page.getByText("No key has been verified since you opened this page").waitFor();
  const verify = (facts: object = {}) => service.call("keys.verifyKey", { key: key.key, ...facts });
  const rows = page.getByRole("table", { name: "Verifications" }).getByRole("row");
  await verify();
  await rows.filter({ hasText: "VALID" }).waitFor();
  expect(await page.getByRole("link", { name: `Explain ${key.keyId}` }).getAttribute("href")).toBe(`/ui/keys/${key.keyId}?tab=explain`);

  await page.getByRole("button", { name: "Pause" }).click();
  await verify({ permissions: "invoices.read" });
  await page.getByText("Paused. 1 came since.").waitFor();
  expect(await rows.count()).toBe(2);
  await page.getByRole("button", { name: "Resume" }).click();
  await rows.filter({ hasText: "INSUFFICIENT_PERMISSIONS" }).waitFor();

  await page.getByLabel("Outcome").first().selectOption("VALID");
  await page.getByText("No key has been verified since you opened this page").waitFor();
  await page.reload();
  await page.getByText("No key has been verified since you opened this page").waitFor();
  await verify({ permissions: "invoices.read" });
  await verify();
  await rows.filter({ hasText: "VALID" }).waitFor();
  expect(await rows.count()).toBe(2);

  await page.getByLabel("Events").selectOption("ratelimits");
  await page.getByText("No limit has been checked since you opened this page").waitFor();
  await check("user_1", { cost: 9 });
  const link = page.getByRole("row", { name: "denied user_1" }).getByRole("link", { name: "user_1" });
  await link.click();
  await page.getByRole("tab", { name: "Identifiers", selected: true }).waitFor();
  expect(await page.getByLabel("Begins with").inputValue()).toBe("user_1");
});

test("[console §3] a namespace is deleted by typing its name, with the root key once more", async () => {
  await check("user_1", { namespace: "to be deleted" });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/limits/${await namespaceNamed("to be deleted")}?tab=settings`, service.rootKey);
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete namespace" });
  await dialog.getByLabel("Name to confirm").fill("to be deleted");
  await dialog.getByRole("button", { name: "Delete" }).click();
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByLabel("Root key").fill(service.rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("heading", { level: 1, name: "Rate limits" }).waitFor();
  await page.getByRole("link", { name: "logins" }).waitFor();
  expect(await page.getByRole("link", { name: "to be deleted" }).count()).toBe(0);
});

test("[console §3] forbidden actions are disabled with their reason, and hidden data names the missing permission", async () => {
  const permissions = ["console.*.sign_in", `ratelimit.${namespaceId}.read_override`, `ratelimit.${namespaceId}.read_namespace`];
  const { data } = await service.call("rootKeys.createKey", { name: "reader", permissions });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/limits/${namespaceId}`, String(data.key));
  const set = page.getByRole("button", { name: "Set override" });
  expect(await set.getAttribute("title")).toBe(`Your session lacks ratelimit.${namespaceId}.set_override.`);
  await page.getByRole("row", { name: "premium_1" }).waitFor();
  await page.goto(`${service.url}/ui/tail`);
  await page.getByText("api.*.read_analytics").first().waitFor();
  await page.goto(`${service.url}/ui/limits/no such`);
  await page.getByRole("heading", { level: 1, name: "no such" }).waitFor();
  await page.getByRole("alert").first().waitFor();
});

test.each([
  ["light", 1280],
  ["dark", 320],
] as const)("[console §3] for everybody: %s at %i pixels", async (colorScheme, width) => {
  await using window = await openPage(browser, { colorScheme, width });
  const { page, faults } = window;
  await openSignedIn(page, `${service.url}/ui/limits`, service.rootKey);
  const clean = async () => {
    await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await overflow(page)).toBe(0);
  };
  await page.getByRole("table", { name: "Namespaces" }).waitFor();
  await clean();
  await page.getByRole("link", { name: "logins" }).click();
  await page.getByRole("table", { name: "Overrides" }).waitFor();
  await clean();
  await page.getByRole("button", { name: "Edit premium_1" }).click();
  await page.getByRole("region", { name: "Which identifiers match" }).waitFor();
  await clean();
  await page.keyboard.press("Escape");
  for (const [tab, shown] of [
    ["Identifiers", "Busiest identifiers"],
    ["What if", "Identifiers that would have been denied"],
  ] as const) {
    await page.getByRole("tab", { name: tab }).click();
    await page.getByRole("table", { name: shown }).waitFor();
    await clean();
  }
  await page.getByRole("tab", { name: "Try" }).click();
  await page.getByLabel("Identifier").fill("an identifier that is longer than what a narrow window shows");
  await page.getByRole("button", { name: "Try", exact: true }).click();
  await page.getByRole("table", { name: "Answers" }).waitFor();
  await clean();
  await page.goto(`${service.url}/ui/tail`);
  await page.getByText("No key has been verified since you opened this page").waitFor();
  await service.call("keys.verifyKey", { key: key.key, permissions: "invoices.read" });
  await page.getByRole("table", { name: "Verifications" }).waitFor();
  await clean();
  expect(faults).toEqual([]);
});
