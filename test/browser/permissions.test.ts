import { afterAll, beforeAll, expect, test } from "vitest";
import { accessibilityFaults, openPage, openSignedIn, overflow, type SharedBrowser, startBrowser, startConsole } from "./console.ts";

let service: Awaited<ReturnType<typeof startConsole>>;
let browser: SharedBrowser;
let apiId: string;
let keyId: string;
let namespaceId: string;

const newRootKey = async (...permissions: readonly string[]): Promise<string> =>
  String((await service.call("rootKeys.createKey", { permissions: ["console.*.sign_in", ...permissions] })).data.key);

beforeAll(async () => {
  service = await startConsole({ ANALYTICS: "off" });
  browser = await startBrowser();
  apiId = String((await service.call("apis.createApi", { name: "payments" })).data.apiId);
  keyId = String((await service.call("keys.createKey", { apiId, name: "hidden", externalId: "customer_1" })).data.keyId);
  await service.call("ratelimit.limit", { namespace: "logins", identifier: "ada", limit: 10, duration: 60_000 });
  const { data } = (await service.call("ratelimit.listNamespaces", {})) as unknown as { data: { id: string }[] };
  namespaceId = String(data[0]?.id);
  await service.call("permissions.createRole", { name: "reader", permissions: ["invoices.read"] });
});

afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
});

test("[console §3] every list that the session may not see names the missing permission, and none reads as empty", async () => {
  const rootKey = await newRootKey();
  await using window = await openPage(browser);
  const { page, faults } = window;
  await openSignedIn(page, `${service.url}/ui`, rootKey);
  const pages: readonly (readonly [path: string, ...permissions: readonly string[]])[] = [
    ["", "node.*.read_node", "api.*.read_analytics", "api.*.read_key and api.*.read_api"],
    ["/apis", "api.*.read_api"],
    [`/apis/${apiId}`, `api.${apiId}.read_api`],
    [`/keys/${keyId}`, `api.${apiId}.read_key`],
    ["/identities", "identity.*.read_identity"],
    ["/identities/customer_1", "identity.*.read_identity"],
    ["/access", "rbac.*.read_role"],
    ["/access?tab=permissions", "rbac.*.read_permission"],
    ["/access?tab=holders&permission=invoices.read", "rbac.*.read_permission"],
    ["/limits", "ratelimit.*.read_namespace"],
    [`/limits/${namespaceId}`, `ratelimit.${namespaceId}.read_override`],
    [`/limits/${namespaceId}?tab=identifiers`, `ratelimit.${namespaceId}.read_namespace`, "ratelimit.*.read_analytics"],
    [`/limits/${namespaceId}?tab=what-if`, "ratelimit.*.read_analytics"],
    ["/tail", "api.*.read_analytics"],
    ["/tail?kind=ratelimits", "ratelimit.*.read_analytics"],
    ["/analytics", "api.*.read_analytics"],
    ["/analytics?kind=ratelimits", "ratelimit.*.read_analytics"],
    ["/audit", "audit.*.read_audit_log"],
    ["/root-keys", "root_key.*.read_root_key"],
    ["/nodes", "node.*.read_node"],
    ["/settings?tab=migrations", "migration.*.read_migration"],
  ];
  for (const [path, ...permissions] of pages) {
    await page.goto(`${service.url}/ui${path}`);
    for (const permission of permissions) {
      await page.locator(".note").filter({ hasText: "Not permitted" }).filter({ hasText: permission }).first().waitFor();
    }
    expect(await page.getByText(/\byet\b|\bNo \w+ (was|has|is|expires)|There is no /).allTextContents(), path).toEqual([]);
  }
  await page.goto(`${service.url}/ui/find`);
  await page.getByLabel("What to find").fill("reader");
  await page.getByRole("button", { name: "Find" }).click();
  await page.getByText(/Not everything was searched\..*rbac\.\*\.read_role/).waitFor();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to" });
  await palette.getByRole("combobox").fill("logins");
  await palette.getByText(/Not everything was searched\..*ratelimit\.\*\.read_namespace/).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  expect(faults).toEqual([]);
});

test("[console §3] a session that may see single objects only reads that where it sees none", async () => {
  const { data } = await service.call("apis.createApi", { name: "deleted" });
  const rootKey = await newRootKey(`api.${data.apiId}.read_api`, `api.${data.apiId}.read_key`, "rbac.*.read_role");
  await service.call("apis.deleteApi", { apiId: data.apiId });
  await using window = await openPage(browser, { colorScheme: "dark", width: 320 });
  const { page } = window;
  await openSignedIn(page, `${service.url}/ui/apis`, rootKey);
  await page.getByText("Nothing that your session may see: it lacks the permission api.*.read_api.").waitFor();
  expect(await page.getByText("There is none yet").count()).toBe(0);
  expect(await accessibilityFaults(page)).toEqual([]);
  expect(await overflow(page)).toBe(0);
  await page.goto(`${service.url}/ui/apis?search=payments`);
  await page.getByText("Nothing that your session may see: it lacks the permission api.*.read_api.").waitFor();
  // Nothing tells that the store is new: the session does not see all of it.
  await page.goto(`${service.url}/ui`);
  await page.getByText("Nothing that your session may see: it lacks the permissions api.*.read_key and api.*.read_api.").first().waitFor();
  expect(await page.getByRole("list", { name: "First steps" }).count()).toBe(0);
});
