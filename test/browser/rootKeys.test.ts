import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
let apiId: string;

beforeAll(async () => {
  service = await startConsole();
  browser = await startBrowser();
  apiId = String((await service.call("apis.createApi", { name: "payments" })).data.apiId);
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

interface ListedRootKey {
  readonly keyId: string;
  readonly name: string | null;
  readonly permissions: readonly string[];
  readonly usedPermissions: readonly { readonly permission: string }[];
  readonly expires: number | null;
}

const listed = async (name: string): Promise<readonly ListedRootKey[]> => {
  const { data } = await service.call("rootKeys.listKeys", {});
  return (data as unknown as ListedRootKey[]).filter((rootKey) => rootKey.name === name);
};

const callAs = async (rootKey: string, procedure: string, body: object): Promise<number> => {
  const answer = await fetch(`${service.url}/v2/${procedure}`, {
    method: "POST",
    headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return answer.status;
};

/** Enters the root key again where that is asked for. */
const confirmWith = async (page: Page, rootKey: string) => {
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByLabel("Root key").fill(rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
};

/** Reads the secret that is shown once, and closes it. */
const takeSecret = async (page: Page): Promise<string> => {
  const dialog = page.getByRole("dialog", { name: "The new root key" });
  await dialog.getByRole("button", { name: "Reveal" }).click();
  const secret = (await dialog.locator(".secret code").textContent()) ?? "";
  page.once("dialog", (question) => void question.accept());
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  return secret;
};

test("[console §3] a root key is created with scoped permissions, used, shrunk, rerolled with grace and revoked, and its session ends", {
  tags: "story",
}, async () => {
  await using window = await openPage(browser);
  const { page, faults } = window;
  await openSignedIn(page, `${service.url}/ui/root-keys/new`, service.rootKey);
  await page.getByRole("textbox", { name: "Name" }).fill("billing worker");
  await page.getByLabel("Scope to an API").selectOption(apiId);
  await page.getByRole("checkbox", { name: `api.${apiId}.read_api`, exact: true }).check();
  await page.getByRole("checkbox", { name: `api.${apiId}.create_key`, exact: true }).check();
  await page.getByRole("checkbox", { name: "console.*.sign_in", exact: true }).check();
  await page.getByRole("button", { name: "Create root key" }).click();
  await confirmWith(page, service.rootKey);
  const secret = await takeSecret(page);
  expect(await page.content()).not.toContain(secret);
  expect((await listed("billing worker"))[0]?.permissions).toEqual([
    `api.${apiId}.create_key`,
    `api.${apiId}.read_api`,
    "console.*.sign_in",
  ]);

  // Used: by a call, and by a session of its own.
  expect(await callAs(secret, "apis.getApi", { apiId })).toBe(200);
  expect(await callAs(secret, "apis.deleteApi", { apiId })).toBe(403);
  await using other = await openPage(browser);
  await other.page.goto(`${service.url}/ui/apis`);
  await signIn(other.page, secret);
  await other.page.getByRole("link", { name: "payments" }).waitFor();
  await expect.poll(async () => (await listed("billing worker"))[0]?.usedPermissions.length, { timeout: 30_000 }).toBe(2);

  // Shrunk to what it used, by one click and a review.
  await page.goto(`${service.url}/ui/root-keys`);
  const row = page.getByRole("row", { name: "billing worker" });
  await row.getByText("uses 2 of 3 permissions").waitFor();
  await row.getByRole("button", { name: "Shrink" }).click();
  const review = page.getByRole("dialog", { name: "Before → after" });
  await review.getByRole("row", { name: `permissions api.${apiId}.create_key none` }).waitFor();
  await review.getByRole("button", { name: "Save changes" }).click();
  await row.getByText("uses 2 of 2 permissions").waitFor();
  expect(await callAs(secret, "keys.createKey", { apiId })).toBe(403);

  // Rerolled: the old one keeps working for an hour.
  await row.getByRole("button", { name: "Reroll" }).click();
  const reroll = page.getByRole("dialog", { name: "Reroll billing worker" });
  await reroll.getByRole("radio", { name: "1 hour" }).check();
  await reroll.getByRole("button", { name: "Reroll" }).click();
  const renewed = await takeSecret(page);
  expect(await callAs(renewed, "apis.getApi", { apiId })).toBe(200);
  expect(await callAs(secret, "apis.getApi", { apiId })).toBe(200);
  const ending = (await listed("billing worker")).find(({ expires }) => expires !== null);
  expect((ending?.expires ?? 0) > Date.now()).toBe(true);

  // Revoked by typing its name: calls are refused, and so is the session.
  await page.goto(`${service.url}/ui/root-keys?key=${ending?.keyId}`);
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  const revoke = page.getByRole("dialog", { name: "Revoke root key" });
  expect(await revoke.getByRole("button", { name: "Revoke" }).getAttribute("aria-disabled")).toBe("true");
  await revoke.getByLabel("Name to confirm").fill("billing worker");
  await revoke.getByRole("button", { name: "Revoke" }).click();
  await revoke.waitFor({ state: "detached" });
  expect(await callAs(secret, "apis.getApi", { apiId })).toBe(401);
  await other.page.goto(`${service.url}/ui/apis`);
  await other.page.getByLabel("Root key").waitFor();
  expect([...faults, ...other.faults]).toEqual([]);
});

test("[console §3] permissions that the person does not hold are disabled, with the reason, and templates leave them out", async () => {
  const { data } = await service.call("rootKeys.createKey", {
    name: "small",
    permissions: ["console.*.sign_in", "root_key.*.create_root_key", "root_key.*.read_root_key", `api.${apiId}.verify_key`],
  });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/root-keys/new`, String(data.key));
  const box = page.getByRole("checkbox", { name: "api.*.verify_key", exact: true });
  expect(await box.isDisabled()).toBe(true);
  expect(await box.getAttribute("title")).toContain("lacks api.*.verify_key");
  await page.getByRole("button", { name: "Full access" }).click();
  await page.getByText("3 permissions chosen").waitFor();
  expect(await page.getByRole("checkbox", { name: "console.*.sign_in", exact: true }).isChecked()).toBe(true);
  // Actions that the session may not take are disabled in the list as well.
  await page.goto(`${service.url}/ui/root-keys`);
  const button = page.getByRole("row", { name: "small" }).getByRole("button", { name: "Revoke" });
  expect(await button.getAttribute("aria-disabled")).toBe("true");
});

test("[console §3] a root key is edited in all three states, and never overwrites another editor's change", async () => {
  const { data } = await service.call("rootKeys.createKey", { name: "edited", permissions: ["api.*.read_api"] });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/root-keys?key=${data.keyId}`, service.rootKey);
  const edit = page.getByRole("dialog", { name: /^Edit / });
  const review = page.getByRole("dialog", { name: "Before → after" });
  const open = async () => {
    await page.getByRole("dialog").getByRole("button", { name: "Edit" }).click();
    await edit.waitFor();
  };
  const save = async () => {
    await edit.getByRole("button", { name: "Save changes" }).click();
    await review.getByRole("button", { name: "Save changes" }).click();
  };
  await open();
  const expires = edit.getByRole("radiogroup", { name: "Expires" });
  await expires.getByRole("radio", { name: "Set" }).check();
  await edit.locator("input[name=expires][type=datetime-local]").fill("2020-01-02T03:04");
  await edit.getByText("Expires must be in the future.").first().waitFor();
  expect(await edit.getByRole("button", { name: "Save changes" }).getAttribute("aria-disabled")).toBe("true");
  await edit.locator("input[name=expires][type=datetime-local]").fill("2099-01-02T03:04");
  await edit.getByRole("checkbox", { name: "api.*.verify_key", exact: true }).check();
  await save();
  await confirmWith(page, service.rootKey);
  await edit.waitFor({ state: "detached" });
  expect((await listed("edited"))[0]).toMatchObject({
    expires: new Date("2099-01-02T03:04").getTime(),
    permissions: ["api.*.read_api", "api.*.verify_key"],
  });

  await open();
  await expires.getByRole("radio", { name: "Never expires" }).check();
  await edit.getByRole("radiogroup", { name: "Name" }).getByRole("radio", { name: "Remove the name" }).check();
  await service.call("rootKeys.updateKey", { keyId: data.keyId, name: "theirs" });
  await save();
  const conflict = page.getByRole("dialog", { name: "Changed meanwhile" });
  await conflict.getByRole("row", { name: "name theirs no name" }).waitFor();
  expect((await listed("theirs"))[0]?.expires).not.toBeNull();
  await conflict.getByRole("button", { name: "Keep mine and review" }).click();
  await review.getByRole("button", { name: "Save changes" }).click();
  await edit.waitFor({ state: "detached" });
  const { data: all } = await service.call("rootKeys.listKeys", {});
  expect((all as unknown as ListedRootKey[]).find(({ keyId }) => keyId === data.keyId)).toMatchObject({ name: null, expires: null });
});

describe("[console §3] for every theme and width", () => {
  test.each([
    ["dark", 1280],
    ["light", 320],
  ] as const)("nothing to find for axe, no sideways scrolling, no violation of the CSP: %s, %i pixels", async (colorScheme, width) => {
    const [shown] = (await service.call("rootKeys.listKeys", {})).data as unknown as ListedRootKey[];
    await using window = await openPage(browser, { colorScheme, width });
    const { page, faults } = window;
    await openSignedIn(page, `${service.url}/ui/root-keys`, service.rootKey);
    await page.getByRole("table", { name: "Root keys" }).waitFor();
    const check = async (looked = true) => {
      await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
      if (looked) expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
    };
    await check();
    await page.goto(`${service.url}/ui/root-keys/new`);
    await page.getByRole("button", { name: "Verifier" }).click();
    // The matrix is large: axe sees it in one theme on the page, in the other in the dialog.
    await check(colorScheme === "light");
    await page.goto(`${service.url}/ui/root-keys?key=${shown?.keyId}`);
    await page.getByRole("dialog").getByRole("button", { name: "Edit" }).click();
    await page.getByRole("dialog", { name: "Edit" }).waitFor();
    await check(colorScheme === "dark");
    expect(faults).toEqual([]);
  });
});
