// @same-on-every-engine
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import packageJson from "../../package.json" with { type: "json" };
import { rootKeyTemplates } from "../../src/features/rootKeys/rootKeyTemplates.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { configVariables } from "../../src/platform/config/loadConfig.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import { testConfig } from "../support/api.ts";
import { places } from "../support/places.ts";

test("help names every command and every setting", async () => {
  const { code, printed } = await runCommand(["help"], {});
  expect(code).toBe(0);
  const text = printed.join("\n");
  for (const command of ["serve", "root-key create", "root-key list", "root-key update", "root-key revoke", "doctor"]) {
    expect(text).toContain(`latchkey ${command}`);
  }
  for (const { name } of configVariables) expect(text).toMatch(new RegExp(`^  ${name} `, "m"));
});

test("--version prints the version of package.json", async () => {
  expect(await runCommand(["--version"], {})).toEqual({ code: 0, printed: [packageJson.version], complained: [] });
});

test.each(["--help", "-h"])("a command's own %s is its usage, whatever else is given, and opens no store", async (option) => {
  for (const args of [
    ["root-key", "create", option],
    ["serve", option],
    ["audit", "verify", "--url", "http://x", option],
  ]) {
    const { code, printed, complained } = await runCommand(args, { DATA_DIR: "/nonexistent/latchkey" });
    expect({ code, complained }).toEqual({ code: 0, complained: [] });
    expect(printed[0]).toMatch(new RegExp(`^  latchkey ${args[0]}`));
  }
});

test("a namespace with --help shows its procedures, alone it says how to see them", async () => {
  expect(await runCommand(["keys", "--help"], {})).toEqual(await runCommand(["help", "keys"], {}));
  for (const args of [["keys"], ["keys", "make-key"]]) {
    const { code, complained } = await runCommand(args, {});
    expect({ code, complained: complained[0] }).toEqual({ code: 2, complained: expect.stringContaining("latchkey help keys shows") });
  }
});

test.each([
  [[], "no command"],
  [["launch"], 'no command "launch"'],
  [["root-key"], 'no command "root-key"'],
  [["root-key", "make"], 'no command "root-key make"'],
  [["root-key", "create"], "--name is missing"],
  [["root-key", "create", "--name", ""], "--name: 0 characters"],
  [["root-key", "create", "--name", "x".repeat(256)], "--name: 256 characters"],
  [["root-key", "create", "--name"], "--name"],
  [["root-key", "create", "--name", "a", "--permissions", "x"], "--permissions"],
  [["root-key", "create", "--name", "a", "--expires", "tomorrow"], "--expires"],
  [["root-key", "create", "--name", "a", "b"], 'unexpected argument "b"'],
  [
    ["root-key", "create", "--name", "a", "--permission", "api.*", "--permission", "api.*.read_api", "--permission", "fly"],
    "latchkey: --permission: 'api.*' and 'fly' are not root-key permissions; write <type>.<id or *>.<action>, such as api.*.read_api",
  ],
  [["root-key", "update", "rk_1", "--permission", "api.*"], "--permission: 'api.*' is not a root-key permission; write <type>"],
  [
    ["root-key", "list", "--root-key", "lkr_x"],
    "--root-key: a root key is not taken as an argument, which every user of this machine can see",
  ],
  [["root-key", "list", "--token=lkr_x"], "--token: a root key is not taken as an argument"],
  [["root-key", "list", "lkr_x"], 'unexpected argument "lkr_…"'],
  [["root-key", "update"], "ID is missing"],
  [["root-key", "update", "rk_1"], "nothing to change"],
  [["root-key", "update", "rk_1", "--enable", "--disable"], "exclude each other"],
  [["root-key", "update", "rk_1", "--permission", "api.*.read_api", "--all-permissions"], "exclude each other"],
  [["root-key", "update", "rk_1", "--expires", "1d", "--no-expiry"], "exclude each other"],
  [["root-key", "revoke"], "ID is missing"],
  [
    ["root-key", "create", "--name", "x", "--template", "root"],
    '--template: there is no "root"; want one of verifier, issuer, analyst, read-only, admin',
  ],
  [["root-key", "list", "all"], 'unexpected argument "all"'],
  [["doctor", "--fix"], "--fix"],
  [["serve", "--port", "1"], "--port"],
])("wrong usage is refused with 2: %j", async (args, message) => {
  const dataDir = await mkdtemp(join(tmpdir(), "latchkey-cli-"));
  const { code, printed, complained } = await runCommand(args, { DATA_DIR: dataDir });
  await rm(dataDir, { recursive: true });
  expect(code).toBe(2);
  expect(printed).toEqual([]);
  expect(complained.join("\n")).toContain(message);
  expect(complained.join("\n")).not.toContain("lkr_x");
});

test("a wrong configuration is refused with 2 and every problem, for every command", async () => {
  for (const args of [["serve"], ["doctor"], ["root-key", "list"]]) {
    const { code, complained } = await runCommand(args, { PORT: "abc", LOG_LEVEL: "loud" });
    expect(code).toBe(2);
    expect(complained).toEqual(expect.arrayContaining([expect.stringMatching(/^ {2}PORT: /), expect.stringMatching(/^ {2}LOG_LEVEL: /)]));
  }
});

// Root keys are managed alike on every engine.
describe.each(places)("root keys on $name", ({ open, close }) => {
  let env: Record<string, string>;
  beforeAll(async () => {
    env = await open();
  });
  afterAll(() => close(env));

  const run = (...args: string[]) => runCommand(["root-key", ...args], env);
  const rows = async () => (await run("list")).printed.slice(1);
  const create = async (...args: string[]) => {
    const { code, printed, complained } = await run("create", ...args);
    expect(code).toBe(0);
    const id = /rk_\w+/.exec(complained.join())?.[0] ?? "";
    return { id, secret: printed.at(-1) ?? "", printed };
  };

  test("[protocol §7] create prints the secret alone, and no list shows it", async () => {
    const { id, secret, printed } = await create("--name", "Check out");
    expect(printed).toEqual([expect.stringMatching(/^lkr_[0-9A-Za-z]{38}$/)]);
    const listed = (await rows()).find((row) => row.startsWith(id));
    expect(listed).toMatch(/Check out .* enabled .* never .* never .* everything$/);
    expect(listed).toContain(`${secret.slice(0, 8)}…${secret.slice(-4)}`);
    expect(listed).not.toContain(secret);
  });

  test("[protocol §8] permissions and expiry are kept, the plural type is spelled as the singular one", async () => {
    const { id } = await create(
      "--name",
      "a",
      "--permission",
      "apis.*.verify_key",
      "--permission",
      "api.api_1.read_key",
      "--expires",
      "2099-01-02",
    );
    const listed = (await rows()).find((row) => row.startsWith(id));
    expect(listed).toContain("2099-01-02T00:00:00Z");
    expect(listed).toMatch(/api\.\*\.verify_key api\.api_1\.read_key$/);
  });

  test("update changes what is named and keeps the rest", async () => {
    const { id } = await create("--name", "before", "--permission", "api.*.read_key", "--expires", "30d");
    const row = async () => (await rows()).find((line) => line.startsWith(id));
    expect(await run("update", id, "--name", "after")).toMatchObject({ code: 0 });
    expect(await row()).toMatch(/after .* enabled .* api\.\*\.read_key$/);
    expect(await run("update", id, "--no-expiry", "--permission", "ratelimit.*.limit")).toMatchObject({ code: 0 });
    expect(await row()).toMatch(/after .* never +never +ratelimit\.\*\.limit$/);
    expect(await run("update", id, "--all-permissions", "--disable")).toMatchObject({ code: 0 });
    expect(await row()).toMatch(/after .* revoked .* everything$/);
  });

  test("create takes a template, to which --permission adds", async () => {
    const given = async (...args: string[]): Promise<readonly string[]> => {
      const { id } = await create("--name", "templated", ...args);
      const { printed } = await runCommand(["root-key", "list", "--json"], env);
      const keys = JSON.parse(printed[0] ?? "") as { readonly keyId: string; readonly permissions: readonly string[] }[];
      return keys.find(({ keyId }) => keyId === id)?.permissions ?? [];
    };
    for (const { name, permissions } of rootKeyTemplates) expect([name, await given("--template", name)]).toEqual([name, permissions]);
    expect(await given("--template", "verifier", "--permission", "console.*.sign_in", "--permission", "api.*.verify_key")).toEqual([
      "api.*.verify_key",
      "console.*.sign_in",
      "ratelimit.*.limit",
    ]);
    // A list, unlike that of a root key without one: later versions add nothing to it.
    const store = await openStore({ ...testConfig(env), clock: systemClock, mode: "tool" });
    await store.prepare();
    const stored = await store.collection("rootKeys").find({ name: "templated" }).toArray();
    await store.close();
    expect(stored.map(({ permissions }) => permissions?.length)).not.toContain(undefined);
  });

  test("[protocol §7] revoke disables, enable undoes it", async () => {
    const { id } = await create("--name", "r");
    expect(await run("revoke", id, "--yes")).toMatchObject({ code: 0 });
    expect((await rows()).find((line) => line.startsWith(id))).toContain("revoked");
    expect(await run("update", id, "--enable")).toMatchObject({ code: 0 });
    expect((await rows()).find((line) => line.startsWith(id))).toContain("enabled");
  });

  test("an unknown id fails with 4", async () => {
    for (const args of [
      ["revoke", "rk_unknown", "--yes"],
      ["update", "rk_unknown", "--enable"],
    ]) {
      const { code, complained } = await run(...args);
      expect(code).toBe(4);
      expect(complained.join()).toContain("rk_unknown");
    }
  });

  test("doctor counts the root keys that can be used", async () => {
    const { code, printed } = await runCommand(["doctor"], env);
    expect(code).toBe(0);
    expect(printed.join("\n")).toMatch(/^ok {4}store: .* answers; \d+ of \d+ root keys can be used$/m);
  });
});

describe("in a directory without a store", () => {
  let dataDir: string;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "latchkey-cli-"));
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  test.each([
    "root-key list",
    "root-key revoke rk_1 --yes",
    "root-key update rk_1 --enable",
    "api protect api_1",
    "namespace delete login --yes",
    "migration list",
    "audit verify",
    "audit export",
  ])("%s says that there is none, and makes none", async (line) => {
    const { code, printed, complained } = await runCommand(line.split(" "), { DATA_DIR: dataDir });
    expect({ code, printed }).toEqual({ code: 1, printed: [] });
    expect(complained.join()).toContain(`there is no store in ${dataDir}`);
    expect(await readdir(dataDir)).toEqual([]);
  });

  test("root-key create makes it, and tells that the first start will make no root key", async () => {
    const first = await runCommand(["root-key", "create", "--name", "first"], { DATA_DIR: dataDir });
    expect(first.complained.join("\n")).toContain("the first start of the service will make none of its own");
    const second = await runCommand(["root-key", "create", "--name", "second"], { DATA_DIR: dataDir });
    expect(second.complained.join("\n")).not.toContain("first start");
  });
});

describe("doctor", () => {
  test("says what a first start would make, and makes nothing", async () => {
    const dataDir = join(tmpdir(), "latchkey-cli-none");
    const { code, printed } = await runCommand(["doctor"], { DATA_DIR: dataDir });
    expect(code).toBe(0);
    expect(printed.join("\n")).toContain(`none in ${dataDir} yet`);
    await expect(rm(dataDir, { recursive: true })).rejects.toThrow(/ENOENT/);
  });

  test("fails with 1 for an unavailable store and an unreadable certificate", async () => {
    const { code, printed } = await runCommand(["doctor"], {
      MONGODB_URL: "mongodb://user:hunter2@127.0.0.1:1/x",
      TLS_CERT: "/nonexistent/cert.pem",
      TLS_KEY: "/nonexistent/key.pem",
    });
    expect(code).toBe(1);
    expect(printed.filter((line) => line.startsWith("FAIL")).map((line) => line.split(":")[0])).toEqual(["FAIL  store", "FAIL  TLS"]);
    expect(printed.join()).not.toContain("hunter2");
  });
});
