import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { dataOf } from "../support/api.ts";

test.each([
  [["analytics"], 'no command "analytics"'],
  [["analytics", "sql"], "QUERY is missing"],
  [["analytics", "sql", "SELECT 1", "x"], 'unexpected argument "x"'],
  [["analytics", "sql", "SELECT 1", "--csv"], "--csv"],
  [["analytics", "sql", "SELECT 1", "--url", "localhost:3000"], "--url"],
])("wrong usage is refused with 2: %j", async (args, message) => {
  const { code, printed, complained } = await runCommand(args, { DATA_DIR: "/nonexistent/latchkey" });
  expect({ code, printed }).toEqual({ code: 2, printed: [] });
  expect(complained.join("\n")).toContain(message);
});

describe("next to a running service", () => {
  let service: ServiceProcess;
  let env: Record<string, string>;
  let terminalApi: string;
  beforeAll(async () => {
    service = await startService({ env: { ANALYTICS: "embedded" } });
    env = { DATA_DIR: service.dataDir, PORT: new URL(service.url).port };
    const rootKey = await service.rootKey();
    const call = async (procedure: string, body: object) => dataOf(await v2Edge(service.url).call(procedure, body, rootKey));
    const { apiId } = await call("apis.createApi", { name: "terminal" });
    terminalApi = apiId as string;
    const { key } = await call("keys.createKey", { apiId, externalId: "alice" });
    for (let i = 0; i < 12; i++) await call("keys.verifyKey", { key, ...(i < 3 ? { permissions: "no.such" } : {}) });
    await call("ratelimit.limit", { namespace: "terminal", identifier: "a b", limit: 5, duration: 60_000 });
  });
  afterAll(() => service[Symbol.asyncDispose]());

  const sql = (query: string, ...options: string[]) => runCommand(["analytics", "sql", query, ...options], env);
  const outcomes = "SELECT outcome, count(*) AS n, avg(latency) > 0 AS slow FROM key_verifications_v1 GROUP BY outcome ORDER BY n";

  test("a query's rows are a table with aligned columns, numbers at their right", async () => {
    await expect
      .poll(async () => (await sql(outcomes)).printed)
      .toEqual(["outcome                   n  slow", "INSUFFICIENT_PERMISSIONS  3     1", "VALID                     9     1"]);
    expect((await sql(outcomes)).complained).toEqual(["2 rows"]);
  });

  test("--json prints one object a row, no rows nothing", async () => {
    expect((await sql(outcomes, "--json")).printed.map((line) => JSON.parse(line))).toEqual([
      { outcome: "INSUFFICIENT_PERMISSIONS", n: 3, slow: 1 },
      { outcome: "VALID", n: 9, slow: 1 },
    ]);
    const none = "SELECT key_id FROM key_verifications_v1 WHERE key_id = 'nobody'";
    expect(await sql(none)).toEqual({ code: 0, printed: [], complained: ["0 rows"] });
    expect(await sql(none, "--json")).toEqual({ code: 0, printed: [], complained: ["0 rows"] });
  });

  test("tables of limits are asked for without saying so", async () => {
    await expect
      .poll(async () => (await sql("SELECT identifier, passed FROM ratelimits_v1")).printed)
      .toEqual(["identifier  passed", "a b         true"]);
  });

  test("the question before a deletion says how much was verified or checked in the last 24 hours", async () => {
    const asked = async (...args: string[]) => {
      const { code, complained } = await runCommand(args, env, { typed: ["no"] });
      expect(code).toBe(2);
      return complained.find((line) => line.includes("24 hours"));
    };
    await expect.poll(() => asked("apis", "delete-api", "--api-id", terminalApi)).toMatch(/^ {2}verifications in the last 24 hours +12$/);
    await expect
      .poll(() => asked("ratelimit", "delete-namespace", "--namespace", "terminal"))
      .toMatch(/^ {2}checks in the last 24 hours +1$/);
    expect(await asked("identity", "erase", "alice")).toMatch(/ 12$/);
    const { printed } = await runCommand(["apis", "list-keys", "--api-id", terminalApi, "--json"], env);
    const [key] = JSON.parse(printed[0] ?? "") as { readonly keyId: string }[];
    expect(await asked("keys", "delete-key", "--key-id", key?.keyId ?? "")).toMatch(/ 12$/);
  });

  test("errors are reported: a wrong query with 2, an unknown root key with 3, no service with 7", async () => {
    expect(await sql("SELECT nothing FROM key_verifications_v1")).toEqual({
      code: 2,
      printed: [],
      complained: ["latchkey: Unknown column nothing."],
    });
    const unknown = join(service.dataDir, "unknown-key");
    await writeFile(unknown, "lkr_unknown\n");
    expect((await sql(outcomes, "--root-key-file", unknown)).code).toBe(3);
    expect((await sql(outcomes, "--root-key-file", join(service.dataDir, "none"))).complained.join()).toContain("--root-key-file");
    expect(await sql(outcomes, "--url", "http://127.0.0.1:1")).toMatchObject({
      code: 7,
      complained: [expect.stringContaining("no service answers at http://127.0.0.1:1")],
    });
  });
});
