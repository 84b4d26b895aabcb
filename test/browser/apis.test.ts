import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sized } from "../support/sized.ts";
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
let apiId: string;

beforeAll(async () => {
  service = await startConsole();
  browser = await startBrowser();
  apiId = String((await service.call("apis.createApi", { name: "payments" })).data.apiId);
  const { data } = await service.call("keys.createKey", { apiId, name: "first" });
  for (const permissions of [undefined, "a.b"]) await service.call("keys.verifyKey", { key: data.key, permissions });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

const shown = {
  "/ui/apis": "APIs",
  "/ui/apis/ID": "payments",
  "/ui/apis/ID?tab=analytics": "payments",
  "/ui/apis/ID?tab=settings": "payments",
} as const;

describe.each(["light", "dark"] as const)("[console §3] for every theme and width: %s", (colorScheme) => {
  // Each theme and each width once; all four with LATCHKEY_TEST_SIZE=deep.
  test.each(sized([colorScheme === "light" ? 1280 : 320], [1280, 320]))(
    "nothing to find for axe, no sideways scrolling, no violation of the CSP at %i pixels",
    async (width) => {
      await using window = await openPage(browser, { colorScheme, width });
      const { page, faults } = window;
      await page.goto(`${service.url}/ui/sign-in`);
      await page.getByLabel("Root key").waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
      await signIn(page, service.rootKey);
      // Leaving before the answer would take the request back.
      await page.getByRole("button", { name: "Sign out" }).waitFor();
      for (const [path, heading] of Object.entries(shown)) {
        await page.goto(service.url + path.replace("ID", apiId));
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
        await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
        expect(await accessibilityFaults(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
      }
      for (const [path, button] of [
        ["/ui/apis", "Create API"],
        ["/ui/apis/ID", "Create key"],
        ["/ui/apis/ID?tab=settings", "Delete"],
        ["/ui/apis", "Show code"],
        ["/ui/apis", "Help"],
        ["/ui/apis", "Go to"],
      ] as const) {
        await page.goto(service.url + path.replace("ID", apiId));
        await page.getByRole("button", { name: button }).first().click();
        await page.getByRole("dialog").waitFor();
        expect(await accessibilityFaults(page)).toEqual([]);
        expect(await overflow(page)).toBe(0);
      }
      expect(faults).toEqual([]);
    },
  );
});

test("[console §3] a deep link survives sign-in, and signing out ends at the sign-in page", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await page.goto(`${service.url}/ui/apis/${apiId}?tab=settings`);
  await signIn(page, service.rootKey);
  await page.getByRole("tab", { name: "Settings", selected: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?tab=settings");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Root key").waitFor();
});

test("[console §2.1] a refused root key says so and is not kept", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await page.goto(`${service.url}/ui/sign-in`);
  await signIn(page, "lkr_wrong");
  await page.getByRole("alert").waitFor();
  expect(await page.getByLabel("Root key").inputValue()).toBe("");
});

test("[console §3] by keyboard alone: sign in, create an API and a key, reveal, copy and close", async () => {
  await using window = await openPage(browser);
  const { page, context } = window;
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { keyboard } = page;
  await page.goto(`${service.url}/ui/apis`);
  await tabTo(page, "textbox", "Root key");
  await keyboard.type(service.rootKey);
  await keyboard.press("Enter");
  await tabTo(page, "button", "Create API");
  await keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").waitFor();
  await keyboard.press("Enter");
  // The service's violation is shown at its field, which has the focus.
  await dialog.locator("[aria-invalid]:focus").waitFor();
  expect(await dialog.getByRole("alert").textContent()).toMatch(/req_/);
  await keyboard.type("by keyboard");
  await keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "by keyboard" }).waitFor();
  await tabTo(page, "button", "Create key");
  await keyboard.press("Enter");
  await dialog.getByLabel("Credits").waitFor();
  await tabTo(page, "textbox", "Credits");
  await keyboard.type("9007199254740991");
  await keyboard.press("Enter");
  await tabTo(page, "button", "Reveal");
  expect(await dialog.textContent()).toContain("••••");
  await keyboard.press("Enter");
  await tabTo(page, "button", "Copy");
  await keyboard.press("Enter");
  await page.getByText("Copied.").first().waitFor();
  const copied = await page.evaluate<string>("navigator.clipboard.readText()");
  expect(await dialog.textContent()).toContain(copied);
  await keyboard.press("Escape");
  await page.getByRole("cell", { name: "9,007,199,254,740,991" }).waitFor();
  expect(await page.content()).not.toContain(copied);
  // Focus is back on the button that opened the form.
  await page.locator("button:focus", { hasText: "Create key" }).waitFor();
});

test("[console §2.9] closing a secret that was not copied asks first", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis/${apiId}`, service.rootKey);
  await page.getByRole("button", { name: "Create key" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Create key" }).click();
  await dialog.getByRole("button", { name: "Reveal" }).waitFor();
  const answers = [false, true];
  const questions: string[] = [];
  page.on("dialog", (question) => {
    questions.push(question.message());
    void (answers.shift() === true ? question.accept() : question.dismiss());
  });
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.getByRole("button", { name: "Reveal" }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(questions).toHaveLength(2);
});

test("[console §3] a change is reviewed, and never overwrites another editor's", async () => {
  const { data } = await service.call("apis.createApi", { name: "shared" });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis/${data.apiId}?tab=settings`, service.rootKey);
  await page.getByLabel("Name").fill("mine");
  await service.call("apis.updateApi", { apiId: data.apiId, name: "theirs", deleteProtection: true });
  const save = async () => {
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
  };
  await page.getByRole("button", { name: "Save changes" }).click();
  await page.getByRole("dialog").getByRole("row", { name: "name shared mine" }).waitFor();
  await save();
  const conflict = page.getByRole("dialog", { name: "Changed meanwhile" });
  await conflict.getByRole("row", { name: "name theirs mine" }).waitFor();
  expect(((await service.call("apis.getApi", { apiId: data.apiId })).data as { name: string }).name).toBe("theirs");
  await conflict.getByRole("button", { name: "Keep mine and review" }).click();
  expect(await page.getByRole("dialog").textContent()).not.toContain("deleteProtection");
  await save();
  await page.getByText("Saved.").first().waitFor();
  expect(((await service.call("apis.getApi", { apiId: data.apiId })).data as { name: string }).name).toBe("mine");
});

test("[console §3] a nullable field is kept, set or cleared, by a group that is named as the field", async () => {
  const { data } = await service.call("apis.createApi", { name: "listed" });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis/${data.apiId}?tab=settings`, service.rootKey);
  const group = page.getByRole("radiogroup", { name: "Allowed addresses" });
  const confirm = async () => {
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
  };
  await group.getByRole("radio", { name: "Set" }).check();
  await page.locator("[name=ipAllowlist]").fill("192.0.2.1\nnonsense");
  await confirm();
  await page.locator("[name=ipAllowlist][aria-invalid]").waitFor();
  await page.locator("[name=ipAllowlist]").fill("192.0.2.1");
  await confirm();
  await group.getByRole("radio", { name: "Keep (192.0.2.1/32)" }).waitFor();
  await group.getByRole("radio", { name: "Allow every address" }).check();
  await confirm();
  await group.getByRole("radio", { name: "Keep (every address)" }).waitFor();
});

test("[console §3] an API is deleted by typing its name", async () => {
  const { data } = await service.call("apis.createApi", { name: "to be deleted" });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis/${data.apiId}?tab=settings`, service.rootKey);
  await page.getByRole("button", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete API" });
  const button = dialog.getByRole("button", { name: "Delete" });
  expect(await button.getAttribute("aria-disabled")).toBe("true");
  await dialog.getByLabel("Name to confirm").fill("to be deleted");
  await button.click();
  // Deleting an API needs the root key once more (console §2.4).
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByLabel("Root key").fill("lkr_wrong");
  await elevation.getByRole("button", { name: "Confirm" }).click();
  // A wrong key is refused, and the session stays open.
  await elevation.getByRole("alert").waitFor();
  await elevation.getByLabel("Root key").fill(service.rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("heading", { level: 1, name: "APIs" }).waitFor();
  expect(await page.getByRole("link", { name: "to be deleted" }).count()).toBe(0);
});

test("[console §3] the palette finds pages, objects and pasted ids", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis`, service.rootKey);
  await page.getByRole("heading", { level: 1, name: "APIs" }).waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox");
  await field.fill(apiId);
  await page.getByRole("option", { name: `Open ${apiId}` }).waitFor();
  await field.fill("payment");
  await page.getByRole("option", { name: "payments" }).first().click();
  await page.getByRole("heading", { level: 1, name: "payments" }).waitFor();
  // A whole key is sent to no search of the palette (console §2.9).
  const secret = "acme_3ZVbqeHVyKTr3oZ8Vd4VQp";
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url() + (request.postData() ?? "")));
  await page.keyboard.press("Control+k");
  await field.fill(secret);
  await page.getByRole("option", { name: "Find page, which whole keys are pasted into" }).waitFor();
  await page.waitForTimeout(400);
  expect(asked.filter((request) => request.includes(secret))).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.locator("input[type=search]:focus").waitFor();
});

test("[console §1] a tab that cannot be loaded reloads the page once, and then says so", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis/${apiId}`, service.rootKey);
  await page.getByRole("heading", { level: 1, name: "payments" }).waitFor();
  let refused = 0;
  await page.route("**/ui/a/SettingsTab-*.js", async (route) => {
    refused += 1;
    await route.fulfill({ status: 404 });
  });
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByText("A part of this page could not be loaded.").waitFor();
  expect(refused).toBe(2);
  expect(new URL(page.url()).search).toBe("?tab=settings");
});
