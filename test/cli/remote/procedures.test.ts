import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand, serveHere } from "../../../bench/harness/commandLine.ts";
import type { RunningService } from "../../../bench/harness/latchkeyProcess.ts";
import { exitCodes } from "../../../src/cli/command.ts";
import { procedureCommands } from "../../../src/cli/remote/procedureCommands.ts";

let dataDir: string;
let service: RunningService;
let env: Record<string, string>;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "latchkey-procedures-"));
  service = await serveHere(dataDir, { args: ["--test-clock"] });
  env = { LATCHKEY_URL: service.url, LATCHKEY_ROOT_KEY: await service.rootKey() };
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

const run = (...args: string[]) => runCommand(args, env);
const runWith = (input: string, ...args: string[]) => runCommand(args, env, input);
/** `data` of a call that succeeds. */
const json = async (...args: string[]) => {
  const { code, printed, complained } = await run(...args, "--json");
  expect({ args, code, complained, lines: printed.length }).toEqual({ args, code: 0, complained: [], lines: 1 });
  return JSON.parse(printed[0] ?? "");
};
const newApi = async (name = "payments"): Promise<string> => (await json("apis", "create-api", "--name", name)).apiId;
const newKey = (apiId: string, ...args: string[]): Promise<{ keyId: string; key: string }> =>
  json("keys", "create-key", "--api-id", apiId, ...args);

test("every procedure is reached, and what is missing is named as an option: 2", async () => {
  for (const { namespace, verb, destroys, procedure } of procedureCommands) {
    const { code, complained } = await run(namespace, verb, ...(destroys ? ["--yes"] : []));
    const required = procedure.fields.filter((field) => field.required);
    if (procedure.name === "keys.explain")
      expect({ code, complained: complained[0] }).toEqual({ code: 2, complained: expect.stringContaining("exactly one of keyId and key") });
    else if (required.length > 0 || procedure.name.startsWith("ratelimit.multi")) {
      expect([procedure.name, code]).toEqual([procedure.name, 2]);
      expect([procedure.name, complained[0]]).toEqual([procedure.name, expect.stringMatching(/^latchkey: --[a-z]/)]);
    } else expect([procedure.name, [0, 2, 5].includes(code)]).toEqual([procedure.name, true]);
  }
});

test("an object is names and values, a list a table, nothing a word on standard error", async () => {
  const apiId = await newApi("a table");
  expect((await run("apis", "get-api", "--api-id", apiId)).printed).toEqual([`id    ${apiId}`, "name  a table"]);
  expect(await run("apis", "update-api", "--api-id", apiId, "--delete-protection")).toEqual({
    code: 0,
    printed: [],
    complained: ["Done."],
  });
  const { printed, complained } = await run("apis", "list-apis", "--search", "a table");
  expect(printed).toEqual([
    `id${" ".repeat(apiId.length)}name     createdAt                 updatedAt                 deleteProtection`,
    expect.stringMatching(new RegExp(`^${apiId}  a table  \\S+Z +\\S+Z +true$`)),
  ]);
  expect(complained).toEqual(["1 row"]);
  expect(await run("apis", "list-apis", "--search", "no such api")).toEqual({ code: 0, printed: [], complained: ["0 rows"] });
  expect(await json("apis", "update-api", "--api-id", apiId, "--no-delete-protection")).toEqual({});
});

test("a key's secret is printed once, with a word that it is not shown again", async () => {
  const apiId = await newApi();
  const { code, printed, complained } = await run("keys", "create-key", "--api-id", apiId, "--prefix", "pay", "--name", "Alice");
  expect(code).toBe(0);
  expect(printed).toEqual([expect.stringMatching(/^keyId {2}key_\w+$/), expect.stringMatching(/^key {4}pay_\w+$/)]);
  expect(complained).toEqual(['"key" is shown only now.']);
  const keyId = printed[0]?.split("  ")[1] ?? "";
  const secret = printed[1]?.split(/ +/)[1] ?? "";
  const shown = await run("keys", "get-key", "--key-id", keyId);
  expect(shown.printed.join("\n")).toMatch(/^name +Alice$/m);
  expect([...shown.printed, ...shown.complained].join("\n")).not.toContain(secret);
});

test("[keys §3] omitted fields stay, --no- removes, an empty text is refused by its option", async () => {
  const { keyId } = await newKey(await newApi(), "--name", "Alice", "--expires", "30d", "--permissions", "a.b", "--credits.remaining", "5");
  const key = () => json("keys", "get-key", "--key-id", keyId);
  const update = (...args: string[]) => run("keys", "update-key", "--key-id", keyId, ...args);
  expect(await key()).toMatchObject({ name: "Alice", permissions: ["a.b"], credits: { remaining: 5 }, expires: expect.any(Number) });
  expect((await update("--enabled=false")).code).toBe(0);
  expect(await key()).toMatchObject({ name: "Alice", enabled: false, permissions: ["a.b"] });
  expect((await update("--no-name", "--no-expires", "--no-permissions", "--no-credits", "--enabled")).code).toBe(0);
  const after = await key();
  expect(after).toMatchObject({ enabled: true });
  for (const gone of ["name", "expires", "credits"]) expect(after).not.toHaveProperty(gone);
  expect(after.permissions ?? []).toEqual([]);
  const { code, complained } = await update("--name", "");
  expect({ code, complained }).toEqual({ code: 2, complained: ["latchkey: --name: too short: got 0, want 1"] });
});

test("every violation is named with its option in one sentence, also inside lists", async () => {
  const { code, printed, complained } = await run(
    ...["keys", "create-key", "--api-id", "a", "--credits.remaining=-1", "--expires", "1"],
    ...["--ratelimits", "name=requests,limit=0,duration=1s", "--permissions", "a b"],
  );
  expect({ code, printed, lines: complained.length }).toEqual({ code: 2, printed: [], lines: 1 });
  for (const place of [
    "--api-id: ",
    "--credits.remaining: got -1, want at least 0",
    "--ratelimits[0].limit: got 0, want at least 1",
    "--permissions[0]: ",
  ]) {
    expect(complained[0]).toContain(place);
  }
});

test("exit codes: 3 forbidden, 4 not found, 5 exists or protected, 8 an answer that is no", async () => {
  const apiId = await newApi();
  const { key } = await newKey(apiId, "--permissions", "invoices.read");
  const weak = (await json("root-keys", "create-key", "--permissions", "api.*.read_api", "--name", "weak")).key;
  const forbidden = await runCommand(["apis", "create-api", "--name", "nope"], { ...env, LATCHKEY_ROOT_KEY: weak });
  expect(forbidden).toMatchObject({ code: 3, complained: [expect.stringContaining("api.*.create_api")] });
  expect(await runCommand(["apis", "list-apis"], { ...env, LATCHKEY_ROOT_KEY: "lkr_unknown" })).toMatchObject({ code: 3 });
  expect(await run("apis", "get-api", "--api-id", "api_unknown")).toMatchObject({ code: 4 });
  await json("permissions", "create-role", "--name", "admin");
  expect(await run("permissions", "create-role", "--name", "admin")).toMatchObject({ code: 5 });
  await run("apis", "update-api", "--api-id", apiId, "--delete-protection");
  expect(await run("apis", "delete-api", "--yes", "--api-id", apiId)).toMatchObject({ code: 5 });
  expect(await run("analytics", "get-quota")).toMatchObject({ code: 5 });
  const verify = (...args: string[]) => runWith(`${key}\n`, "keys", "verify-key", "--key", "-", ...args);
  expect(await verify()).toMatchObject({ code: 0 });
  const denied = await verify("--permissions", "invoices.write");
  expect(denied.code).toBe(8);
  expect(denied.printed).toEqual(expect.arrayContaining(["valid        false", "code         INSUFFICIENT_PERMISSIONS"]));
  const limit = ["--namespace", "login", "--identifier", "alice", "--limit", "1", "--duration", "1h"];
  expect((await run("ratelimit", "limit", ...limit)).code).toBe(0);
  expect((await run("ratelimit", "limit", ...limit)).code).toBe(8);
  expect((await run("ratelimit", "multi-limit", "--entries", "namespace=login,identifier=alice,limit=1,duration=1h")).code).toBe(8);
  expect((await run("audit", "verify-chain")).code).toBe(0);
  expect((await json("keys", "search-keys", "--query", "nobody")).length).toBe(0);
});

test("lists inside an answer are tables with a heading, objects inside it by their path", async () => {
  const { keyId } = await newKey(
    await newApi(),
    "--credits.remaining",
    "7",
    "--ratelimits",
    "name=requests,limit=10,duration=1m,auto-apply",
    "--permissions",
    "x.y",
  );
  const { printed } = await run("keys", "explain", "--key-id", keyId, "--permissions", "a.b");
  expect(printed.join("\n")).toMatch(/^code +INSUFFICIENT_PERMISSIONS$/m);
  expect(printed).toContain("steps");
  expect(printed.join("\n")).toMatch(/^ {2}check +outcome +detail +facts$/m);
  expect(printed.join("\n")).toMatch(/^ {2}permissions +failed .*a\.b/m);
  expect(printed.at(printed.indexOf("suggestions") - 1)).toBe("");
  const key = (await run("keys", "get-key", "--key-id", keyId)).printed.join("\n");
  expect(key).toMatch(/^credits\.remaining +7$/m);
  expect(key).toMatch(/^ratelimits\n {2}id +name +limit +duration +autoApply\n {2}rl_\w+ +requests +10 +60000 +true$/m);
});

test("values that are long are cut in tables, --wide and --json keep them", async () => {
  const name = "n".repeat(150);
  await newApi(name);
  const list = ["apis", "list-apis", "--search", "nnnnnn"];
  expect((await run(...list)).printed[1]).toContain(`  ${"n".repeat(99)}…  `);
  expect((await run(...list, "--wide")).printed[1]).toContain(`  ${name}  `);
  expect((await run(...list, "--json")).printed[0]).toContain(`"${name}"`);
  const { id } = (await json(...list))[0];
  expect((await run("apis", "get-api", "--api-id", id)).printed).toContain(`name  ${name}`);
});

describe("pages", () => {
  const list = ["apis", "list-apis", "--search", "paged", "--limit", "2"];
  beforeAll(async () => {
    for (const name of ["paged 1", "paged 2", "paged 3", "paged 4", "paged 5"]) await newApi(name);
  });
  const names = (lines: readonly string[]) => lines.flatMap((line) => /paged \d/.exec(line) ?? []);

  test("one page says how to get the next", async () => {
    const first = await run(...list);
    expect(names(first.printed)).toEqual(["paged 5", "paged 4"]);
    const [, cursor = ""] =
      /^There is more: --all follows all pages, --cursor (\S+) goes on from here\.$/.exec(first.complained[1] ?? "") ?? [];
    expect(names((await run(...list, "--cursor", cursor)).printed)).toEqual(["paged 3", "paged 2"]);
    expect(JSON.parse((await run(...list, "--json")).printed.join())).toHaveLength(2);
  });

  test("--all follows them: one table with one head, or one JSON object a line", async () => {
    const { printed, complained } = await run(...list, "--all");
    expect(names(printed)).toEqual(["paged 5", "paged 4", "paged 3", "paged 2", "paged 1"]);
    expect(printed).toHaveLength(6);
    expect(complained).toEqual(["5 rows"]);
    const lines = (await run(...list, "--all", "--json")).printed;
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(names(printed));
    expect(await run("apis", "get-api", "--api-id", "api_12345", "--all")).toMatchObject({
      code: 2,
      complained: [expect.stringContaining("--all: "), expect.anything()],
    });
  });
});

test("a repeat with the same --idempotency-key does nothing again", async () => {
  const create = ["apis", "create-api", "--name", "once", "--idempotency-key", "cli-once"];
  expect(await json(...create)).toEqual(await json(...create));
  expect(await run("apis", "list-apis", "--idempotency-key", "x")).toMatchObject({ code: 2 });
  expect(await run("apis", "create-api", "--name", "abc", "--idempotency-key", "ü")).toMatchObject({ code: 2 });
});

test("the commands with files of their own work by the service, too", async () => {
  const apiId = await newApi();
  expect(await run("api", "protect", apiId)).toEqual({ code: 0, printed: [], complained: [`Protected API ${apiId} against deletion.`] });
  expect(await run("api", "set-ip-allowlist", apiId, "127.0.0.1")).toMatchObject({
    code: 0,
    complained: [expect.stringContaining("127.0.0.1")],
  });
  const api = (await json("apis", "list-apis")).find(({ id }: { id: string }) => id === apiId);
  expect(api).toMatchObject({ deleteProtection: true, ipAllowlist: ["127.0.0.1/32"] });
  expect((await run("api", "set-ip-allowlist", apiId, "")).code).toBe(0);
  expect((await run("api", "protect", "api_unknown", "--off")).code).toBe(4);

  const made = await run("migration", "create", "--algorithm", "sha256", "--name", "old");
  const [migrationId = ""] = made.printed;
  expect(migrationId).toMatch(/^mig_\w+$/);
  expect((await run("migration", "list")).printed).toEqual([
    expect.stringMatching(/^ID +ALGORITHM +CREATED +NAME$/),
    expect.stringMatching(new RegExp(`^${migrationId} +sha256 +\\S+Z +old$`)),
  ]);
  expect(JSON.parse((await run("migration", "list", "--json")).printed.join())).toMatchObject([{ migrationId, name: "old" }]);
  expect((await run("migration", "delete", migrationId, "--yes")).code).toBe(0);
  expect((await run("migration", "delete", migrationId, "--yes")).code).toBe(4);

  await run("ratelimit", "limit", "--namespace", "doomed", "--identifier", "a", "--limit", "1", "--duration", "1m");
  expect(await run("namespace", "delete", "doomed", "--yes")).toMatchObject({ code: 0, complained: ["Deleted doomed."] });
  expect((await run("namespace", "delete", "doomed", "--yes")).code).toBe(4);

  expect(await run("root-key", "create", "--name", "all")).toMatchObject({
    code: 2,
    complained: [expect.stringContaining("--permission is missing"), expect.anything()],
  });
  const created = await run("root-key", "create", "--name", "checkout", "--permission", "api.*.verify_key", "--expires", "90d");
  expect(created.printed).toEqual([expect.stringMatching(/^lkr_\w{38}$/)]);
  const id = /rk_\w+/.exec(created.complained.join())?.[0] ?? "";
  const row = async () => (await run("root-key", "list")).printed.find((line) => line.startsWith(id));
  expect(await row()).toMatch(/checkout .* enabled .* never .*Z +api\.\*\.verify_key$/);
  expect((await run("root-key", "update", id, "--name", "till", "--no-expiry")).code).toBe(0);
  expect((await run("root-key", "update", id, "--all-permissions")).code).toBe(2);
  expect((await run("root-key", "revoke", id, "--yes")).code).toBe(0);
  expect(await row()).toMatch(/till .* revoked .* never +never +api\.\*\.verify_key$/);
  const [byService, byStore] = [
    await run("root-key", "list", "--json"),
    await runCommand(["root-key", "list", "--json"], { DATA_DIR: dataDir }),
  ];
  const known = (text: string) => JSON.parse(text).map(({ usedPermissions: _, lastUsedAt: __, ...key }: Record<string, unknown>) => key);
  expect(known(byService.printed.join())).toEqual(known(byStore.printed.join()));
});

test("the audit log is verified and exported by the service as by the store", async () => {
  await expect.poll(async () => (await runCommand(["audit", "verify"], { DATA_DIR: dataDir })).printed[0]).toMatch(/ 0 pending, /);
  const [own = ""] = (await runCommand(["audit", "verify"], { DATA_DIR: dataDir })).printed;
  const { code, printed } = await run("audit", "verify");
  expect({ code, verdict: printed[1] }).toEqual({ code: 0, verdict: "The log is whole." });
  expect(printed[0]).toBe(own.replace(/ 0 pending,/, ""));
  const head = /head (\w+)/.exec(own)?.[1] ?? "";
  expect((await run("audit", "verify", "--head", head)).code).toBe(0);
  // The head of an empty log is the start of every log without dropped entries.
  for (const settings of [env, { DATA_DIR: dataDir }]) {
    expect((await runCommand(["audit", "verify", "--head", "0".repeat(64)], settings)).code).toBe(0);
  }
  expect(await run("audit", "verify", "--head", `${"0".repeat(63)}1`)).toMatchObject({
    code: 1,
    complained: [expect.stringContaining("no entry has the hash")],
  });
  const sequences = (lines: readonly string[], of: (event: { sequence?: number; meta?: { sequence: number } }) => number | undefined) =>
    lines.map((line) => of(JSON.parse(line)));
  const exported = (await run("audit", "export")).printed;
  expect(sequences(exported, ({ meta }) => meta?.sequence)).toEqual(
    sequences((await runCommand(["audit", "export"], { DATA_DIR: dataDir })).printed, ({ sequence }) => sequence),
  );
  expect((await run("audit", "export", "--since", "2100-01-01")).printed).toEqual([]);
});

test("help says of every procedure what the interface says: options, permissions, bounds", async () => {
  const text = async (...about: string[]) => (await runCommand(["help", ...about], {})).printed.join("\n");
  const all = await text();
  for (const { namespace, verb } of procedureCommands)
    expect(all).toMatch(new RegExp(`^  latchkey ${namespace} (.*\\|)?${verb}(\\||$)`, "m"));
  for (const [code, meaning] of Object.entries(exitCodes)) expect(all).toContain(`  ${code}  ${meaning}`);
  for (const option of [
    "--url",
    "--root-key-file",
    "--plain-http",
    "--timeout",
    "LATCHKEY_URL",
    "LATCHKEY_ROOT_KEY",
    "NODE_EXTRA_CA_CERTS",
  ])
    expect(all).toContain(option);
  expect(await text("keys")).toContain("  latchkey keys create-key\n      Creates a key in an API and returns its secret, this once.");
  const one = await text("keys", "create-key");
  expect(one).toContain("Needs api.{api_id}.create_key");
  expect(one).toContain("  --api-id TEXT  (required)\n      The API that the keys belong to (3-255 characters).");
  expect(one).toContain("--credits.refill.interval daily|monthly  (needed with --credits.refill)");
  expect(one).toContain("--no-credits.remaining");
  expect(one).toContain("  --byte-length NUMBER\n      Random bytes in the secret, 16-255. Default 16.");
  expect(one).toMatch(/ {2}--recoverable.*\n.* Default false\.$/m);
  expect(await text("keys.createKey")).toBe(one);
  expect((await runCommand(["keys", "create-key", "--help"], {})).printed.join("\n")).toBe(one);
  expect(await text("keys", "verify-key")).toContain("  --key -|@FILE  (required)");
  expect(await text("root-key", "create")).toContain("latchkey root-key create --name NAME");
  expect(await text("audit")).toMatch(/audit verify \[.*\n.*\n.*audit export(.|\n)*audit get-logs/);
  expect(await runCommand(["help", "nothing"], {})).toMatchObject({ code: 2 });
  expect(await runCommand(["keys", "make"], {})).toMatchObject({
    code: 2,
    complained: [expect.stringContaining("latchkey help keys"), expect.anything()],
  });
});
