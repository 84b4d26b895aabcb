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
let identityId: string;

beforeAll(async () => {
  service = await startConsole();
  browser = await startBrowser();
  apiId = String((await service.call("apis.createApi", { name: "payments" })).data.apiId);
  const limits = [{ name: "requests", limit: 100, duration: 60_000, autoApply: true }];
  const created = await service.call("identities.createIdentity", { externalId: "acme.eu", meta: { plan: "pro" }, ratelimits: limits });
  identityId = String(created.data.identityId);
  await service.call("permissions.createRole", {
    name: "accountant",
    description: "Reads",
    permissions: ["invoices.read", "reports.read"],
  });
  await service.call("keys.createKey", { apiId, name: "through a role", externalId: "acme.eu", roles: ["accountant"] });
  const { data } = await service.call("keys.createKey", { apiId, name: "directly", externalId: "acme.eu", permissions: ["invoices.*"] });
  await service.call("keys.createKey", { apiId, name: "without", permissions: ["other.read"] });
  await service.call("keys.verifyKey", { key: data.key });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

test("[console §3] holders of invoices.*: keys through roles and wildcards, and the roles that grant it", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/access?tab=holders`, service.rootKey);
  await page.getByLabel("Permission", { exact: true }).fill("invoices.*");
  await page.getByText("2 keys and 1 role").waitFor();
  expect(new URL(page.url()).searchParams.get("permission")).toBe("invoices.*");
  const keys = page.getByRole("table", { name: "Keys that hold it" });
  await keys.getByRole("row", { name: "through a role invoices.read (role accountant)" }).waitFor();
  await keys.getByRole("row", { name: "directly invoices.*" }).waitFor();
  await page.getByRole("table", { name: "Roles that hold it" }).getByRole("link", { name: "accountant" }).click();
  const dialog = page.getByRole("dialog", { name: "accountant" });
  await dialog.getByRole("table", { name: "Members" }).getByRole("link", { name: "through a role" }).waitFor();
});

test("[console §3] a role is created, edited in all three states, given permissions, and deleted by its name", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/access`, service.rootKey);
  await page.getByRole("button", { name: "Create role" }).click();
  const created = page.getByRole("dialog", { name: "New role" });
  await created.getByLabel("Name").fill("auditor");
  await created.getByLabel("Description").fill("Looks");
  await created.getByLabel("Permissions").fill("invoices.read");
  await created.getByRole("button", { name: "Create role" }).click();
  await page.getByRole("link", { name: "auditor" }).click();
  const dialog = page.getByRole("dialog", { name: "auditor" });
  const review = page.getByRole("dialog", { name: "Before → after" });
  await dialog.getByRole("button", { name: "Edit", exact: true }).click();
  const edit = page.getByRole("dialog", { name: "Edit role" });
  await edit.getByRole("radiogroup", { name: "Description" }).getByRole("radio", { name: "Remove the description" }).check();
  await edit.getByRole("button", { name: "Save changes" }).click();
  await review.getByRole("row", { name: "description Looks no description" }).waitFor();
  await review.getByRole("button", { name: "Save changes" }).click();
  await edit.waitFor({ state: "detached" });
  await dialog.getByText("No description.").waitFor();
  await dialog.getByRole("button", { name: "Set permissions" }).click();
  const grants = page.getByRole("dialog", { name: "Permissions of auditor" });
  await grants.getByLabel("Permissions").fill("invoices.read\nreports.read");
  await service.call("permissions.updateRole", { role: "auditor", description: "Theirs" });
  await grants.getByRole("button", { name: "Save changes" }).click();
  await review.getByRole("button", { name: "Save changes" }).click();
  // The role has changed meanwhile, though not its permissions.
  await page.getByRole("dialog", { name: "Changed meanwhile" }).getByRole("button", { name: "Keep mine and review" }).click();
  await review.getByRole("button", { name: "Save changes" }).click();
  await grants.waitFor({ state: "detached" });
  await dialog.getByRole("link", { name: "reports.read" }).waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  const remove = page.getByRole("dialog", { name: "Delete role" });
  await remove.getByLabel("Name to confirm").fill("auditor");
  await remove.getByRole("button", { name: "Delete" }).click();
  await expect.poll(() => page.getByRole("link", { name: "auditor" }).count()).toBe(0);
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
});

test("[console §3] a key is made a member of a role, and taken out of it", async () => {
  const { data } = await service.call("apis.createApi", { name: "members" });
  const { data: made } = await service.call("keys.createKey", { apiId: data.apiId, name: "joins" });
  await service.call("permissions.createRole", { name: "joined" });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/access`, service.rootKey);
  await page.getByRole("link", { name: "joined" }).click();
  const dialog = page.getByRole("dialog", { name: "joined" });
  await dialog.getByRole("button", { name: "Add member" }).click();
  const add = page.getByRole("dialog", { name: "Add member" });
  await add.getByLabel("Key ID").fill("key_unknown");
  await add.getByRole("button", { name: "Add member" }).click();
  await add.getByRole("alert").waitFor();
  await add.getByLabel("Key ID").fill(String(made.keyId));
  await add.getByRole("button", { name: "Add member" }).click();
  const members = dialog.getByRole("table", { name: "Members" });
  await members.getByRole("link", { name: "joins" }).waitFor();
  expect((await service.call("keys.getKey", { keyId: made.keyId })).data.roles).toEqual(["joined"]);
  await members.getByRole("button", { name: "Remove joins" }).click();
  await dialog.getByText("No key that you may read has this role.").waitFor();
  expect((await service.call("keys.getKey", { keyId: made.keyId })).data.roles).toBeUndefined();
});

test("[console §3] an identity shows the windows of its shared limits as they are", async () => {
  // Of thirty days: one that ended meanwhile would show none of the verifications.
  const ratelimits = [{ name: "shared", limit: 10, duration: 2_592_000_000, autoApply: true }];
  await service.call("identities.createIdentity", { externalId: "windows", ratelimits });
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/identities/windows?tab=settings`, service.rootKey);
  await page.getByText("No key that you may read belongs to this identity").waitFor();
  const { data } = await service.call("apis.createApi", { name: "windows" });
  const { data: made } = await service.call("keys.createKey", { apiId: data.apiId, externalId: "windows" });
  for (let i = 0; i < 3; i += 1) await service.call("keys.verifyKey", { key: made.key });
  const table = page.getByRole("table", { name: "Windows of shared limits" });
  await table.getByRole("row", { name: "shared 3 of 10" }).waitFor();
});

test("[console §3] a permission is created, renamed and deleted by its slug", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/access?tab=permissions`, service.rootKey);
  await page.getByRole("button", { name: "Create permission" }).click();
  const created = page.getByRole("dialog", { name: "New permission" });
  await created.getByLabel("Slug").fill("not a slug");
  await created.getByRole("button", { name: "Create permission" }).click();
  await created.locator("[name=slug][aria-invalid]").fill("orders.read");
  await created.getByRole("button", { name: "Create permission" }).click();
  await page.getByRole("link", { name: "orders.read" }).click();
  const edit = page.getByRole("dialog", { name: "Edit orders.read" });
  await edit.getByRole("radio", { name: "Set" }).check();
  await edit.getByLabel("New description").fill("Reads orders");
  await edit.getByRole("button", { name: "Save changes" }).click();
  await page.getByRole("dialog", { name: "Before → after" }).getByRole("button", { name: "Save changes" }).click();
  await edit.getByRole("radio", { name: "Keep (Reads orders)" }).waitFor();
  await edit.getByRole("button", { name: "Delete" }).click();
  const remove = page.getByRole("dialog", { name: "Delete permission" });
  await remove.getByLabel("Name to confirm").fill("orders.read");
  await remove.getByRole("button", { name: "Delete" }).click();
  await expect.poll(() => page.getByRole("link", { name: "orders.read" }).count()).toBe(0);
});

test("[console §3] an identity is created, its limits and meta are kept, set and cleared, and it is deleted", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/identities`, service.rootKey);
  await page.getByRole("button", { name: "Create identity" }).click();
  const created = page.getByRole("dialog", { name: "New identity" });
  await created.getByLabel("External ID").fill("org.7_x-y");
  await created.getByRole("button", { name: "Add limit" }).click();
  await created.getByLabel("Limit name").fill("ab");
  await created.getByLabel("Limit", { exact: true }).fill("100");
  await created.getByRole("button", { name: "Create identity" }).click();
  // The violation is shown at its field in the list.
  await created.locator("[name='ratelimits[0].name'][aria-invalid]").fill("requests");
  await created.getByRole("button", { name: "Create identity" }).click();
  await page.getByRole("heading", { level: 1, name: "org.7_x-y" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/ui/identities/org.7_x-y");
  await page.getByRole("tab", { name: "Limits and meta" }).click();
  const limits = page.getByRole("radiogroup", { name: "Shared limits" });
  const meta = page.getByRole("radiogroup", { name: "Meta" });
  const save = async () => {
    await page.getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Save changes" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await meta.getByRole("radio", { name: "Set" }).check();
  await page.locator("textarea[name=meta]").fill('{"plan": "pro"}');
  await limits.getByRole("radio", { name: "Set" }).check();
  await page.locator("[name='ratelimits[0].limit']").fill("9007199254740991");
  await save();
  await limits.getByRole("radio", { name: "Keep (requests: 9,007,199,254,740,991 per 1m, always checked)" }).waitFor();
  await meta.getByRole("radio", { name: 'Keep ({"plan":"pro"})' }).waitFor();
  await limits.getByRole("radio", { name: "No limits" }).check();
  await save();
  await limits.getByRole("radio", { name: "Keep (no limits)" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  const remove = page.getByRole("dialog", { name: "Delete identity" });
  await remove.getByLabel("Name to confirm").fill("org.7_x-y");
  await remove.getByLabel("Erase personal data").check();
  await remove.getByRole("button", { name: "Delete" }).click();
  const elevation = page.getByRole("dialog", { name: "Confirm your identity" });
  await elevation.getByLabel("Root key").fill(service.rootKey);
  await elevation.getByRole("button", { name: "Confirm" }).click();
  await page.getByRole("heading", { level: 1, name: "Identities" }).waitFor();
  expect(await page.getByRole("link", { name: "org.7_x-y" }).count()).toBe(0);
});

test("[console §1] externalIds with dots, slashes and other scripts are deep links", async () => {
  await using window = await openPage(browser);
  const { page } = window;
  await page.goto(`${service.url}/ui/identities/acme.eu`);
  await signIn(page, service.rootKey);
  await page.getByRole("heading", { level: 1, name: "acme.eu" }).waitFor();
  await page.getByRole("link", { name: "directly" }).waitFor();
  for (const externalId of ["a/b", "..%2F", "日本/ü.css", "x?y#z"]) {
    await page.goto(`${service.url}/ui/identities/${encodeURIComponent(externalId)}`);
    await page.getByRole("heading", { level: 1, name: externalId, exact: true }).waitFor();
    await page.getByRole("alert").getByText("Not Found.").waitFor();
  }
  await page.goto(`${service.url}/ui/identities/${identityId}?tab=usage`);
  await page.getByText("Verifications by outcome").waitFor();
});

const shown = {
  "/ui/identities": "Identities",
  "/ui/identities/acme.eu": "acme.eu",
  "/ui/identities/acme.eu?tab=settings": "acme.eu",
  "/ui/access": "Access",
  "/ui/access?tab=permissions": "Access",
  "/ui/access?tab=holders&permission=invoices.*": "Access",
  "/ui/access?role=accountant": "Access",
} as const;

describe("[console §3] for every theme and width", () => {
  test.each([
    ["dark", 1280],
    ["light", 320],
  ] as const)("nothing to find for axe, no sideways scrolling, no violation of the CSP: %s, %i pixels", async (colorScheme, width) => {
    await using window = await openPage(browser, { colorScheme, width });
    const { page, faults } = window;
    await openSignedIn(page, `${service.url}/ui/identities`, service.rootKey);
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    for (const [path, heading] of Object.entries(shown)) {
      await page.goto(service.url + path);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await expect.poll(() => page.locator("[aria-busy]").count()).toBe(0);
      if (path.includes("settings")) {
        for (const group of ["Shared limits", "Meta"])
          await page.getByRole("radiogroup", { name: group }).getByRole("radio", { name: "Set" }).check();
      }
      if (path.includes("role=")) await page.getByRole("table", { name: "Members" }).waitFor();
      expect(await accessibilityFaults(page)).toEqual([]);
      expect(await overflow(page)).toBe(0);
    }
    expect(faults).toEqual([]);
  });
});
