import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CommandInput, runCommand, serveHere } from "../../bench/harness/commandLine.ts";
import type { RunningService } from "../../bench/harness/latchkeyProcess.ts";
import { askLine } from "../../src/cli/askLine.ts";
import { ownCommands } from "../../src/cli/ownCommands.ts";
import { procedureCommands } from "../../src/cli/remote/procedureCommands.ts";

const NO_TERMINAL = "latchkey: nothing was done: there is no terminal to ask for confirmation; add --yes to go ahead without it";
const destructive = procedureCommands.filter(({ destroys }) => destroys);
const ownDestructive = ["namespace delete", "migration delete", "root-key revoke", "identity erase"];

test("every procedure that deletes, and every own command with --yes, asks", () => {
  expect(destructive.map(({ procedure }) => procedure.name).sort()).toEqual([
    "apis.deleteApi",
    "identities.deleteIdentity",
    "keys.deleteKey",
    "migrations.deleteMigration",
    "permissions.deletePermission",
    "permissions.deleteRole",
    "ratelimit.deleteNamespace",
    "ratelimit.deleteOverride",
    "rootKeys.deleteKey",
  ]);
  // Deletions and erasures need a permission of that name; a reroll ends a root key that its caller replaces.
  const deleting = procedureCommands.filter(({ procedure }) => procedure.permissions.some((row) => /\.(delete|erase)_\w+$/.test(row)));
  expect(deleting.filter(({ destroys }) => !destroys)).toEqual([]);
  expect(ownCommands.filter(({ usage }) => usage.includes("[--yes]")).map(({ name }) => name)).toEqual(
    expect.arrayContaining(ownDestructive),
  );
});

/** Nothing listens there, no root key and no store can be read. */
const nowhere = { LATCHKEY_URL: "http://127.0.0.1:1", DATA_DIR: "/nonexistent/latchkey" };

test.each([
  ...destructive.map(({ namespace, verb }) => [namespace, verb, "--data", "-"]),
  ...destructive.map(({ procedure }) => [procedure.name, "--data", "-"]),
  ...ownDestructive.map((name) => [...name.split(" "), "some_id"]),
])("without a terminal %s %s ends with 2, and neither reads standard input nor calls the service", async (...args) => {
  const refused = { code: 2, printed: [], complained: [NO_TERMINAL] };
  // Reading the text would complain that it is not JSON.
  expect(await runCommand(args, nowhere, "no json")).toEqual(refused);
  expect(await runCommand(args, { DATA_DIR: "/nonexistent/latchkey" }, "no json")).toEqual(refused);
});

test("--yes is an option of what asks, and of nothing else", async () => {
  const taken = await runCommand(["keys", "get-key", "--key-id", "key_1", "--yes"], nowhere);
  expect(taken).toMatchObject({ code: 2, complained: [expect.stringContaining("there is no option --yes"), expect.anything()] });
  const completed = async (...words: string[]) =>
    (await runCommand(["completion", "words", "--", String(words.length), ...words], {})).printed;
  expect(await completed("keys", "delete-key", "--y")).toEqual(["--yes"]);
  expect(await completed("root-key", "revoke", "--y")).toEqual(["--yes"]);
  expect(await completed("keys", "get-key", "--y")).toEqual([]);
  expect((await runCommand(["help", "keys", "delete-key"], {})).printed.join("\n")).toMatch(/^ {2}--yes /m);
});

describe("at a terminal", () => {
  let dataDir: string;
  let service: RunningService;
  let env: Record<string, string>;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "latchkey-confirm-"));
    service = await serveHere(dataDir);
    env = { LATCHKEY_URL: service.url, LATCHKEY_ROOT_KEY: await service.rootKey(), DATA_DIR: dataDir };
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true });
  });

  /** `data` of a call that succeeds. */
  const json = async (...args: string[]) => {
    const { code, printed, complained } = await runCommand([...args, "--json"], env);
    expect({ args, code, complained }).toEqual({ args, code: 0, complained: [] });
    return JSON.parse(printed[0] ?? "");
  };
  const typing = (typed: readonly string[], args: readonly string[], more: CommandInput = {}) => runCommand(args, env, { ...more, typed });
  const newApi = async (name: string): Promise<string> => (await json("apis", "create-api", "--name", name)).apiId;
  const newKey = async (...args: string[]): Promise<string> => (await json("keys", "create-key", ...args)).keyId;
  /** A root key of these permissions. */
  const holder = async (...permissions: string[]) => {
    const flags = permissions.flatMap((permission) => ["--permissions", permission]);
    return { ...env, LATCHKEY_ROOT_KEY: (await json("root-keys", "create-key", "--name", "weak", ...flags)).key as string };
  };
  const NO_ANALYTICS = expect.stringMatching(/^ {2}verifications in the last 24 hours {2}unknown: .*analytics/);

  test("an API is shown with name, id and number of keys, and deleted when its name is typed", async () => {
    const apiId = await newApi("payments");
    for (let i = 0; i < 3; i++) await newKey("--api-id", apiId);
    const lines = [
      "This deletes the API:",
      expect.stringMatching(/^ {2}name +payments$/),
      expect.stringMatching(new RegExp(`^ {2}id +${apiId}$`)),
      expect.stringMatching(/^ {2}keys +3$/),
      NO_ANALYTICS,
      "Type the name to confirm: ",
    ];
    for (const typed of [["payment"], [""], [apiId], ["y"], []]) {
      expect(await typing(typed, ["apis", "delete-api", "--api-id", apiId])).toEqual({
        code: 2,
        printed: [],
        complained: [...lines, "latchkey: nothing was done: that is not the name"],
      });
    }
    expect((await json("apis", "get-api", "--api-id", apiId)).name).toBe("payments");
    expect(await typing(["payments"], ["apis.deleteApi", "--api-id", apiId])).toEqual({
      code: 0,
      printed: [],
      complained: [...lines, "Done."],
    });
    expect(await runCommand(["apis", "get-api", "--api-id", apiId], env)).toMatchObject({ code: 4 });
  });

  test("--yes asks nothing, at a terminal too", async () => {
    const apiId = await newApi("quick");
    expect(await typing([], ["apis", "delete-api", "--yes", "--api-id", apiId])).toEqual({ code: 0, printed: [], complained: ["Done."] });
  });

  test("a key without a name is confirmed by its id, and so is one of blanks", async () => {
    const apiId = await newApi("nameless");
    const keyId = await newKey("--api-id", apiId);
    const { code, complained } = await typing([keyId], ["keys", "delete-key", "--key-id", keyId]);
    expect({ code, complained }).toEqual({
      code: 0,
      complained: [
        "This deletes the key:",
        expect.stringMatching(new RegExp(`^ {2}id +${keyId}$`)),
        NO_ANALYTICS,
        expect.stringMatching(/^ {2}last used +never$/),
        "Type the id to confirm: ",
        "Done.",
      ],
    });
    const blank = await newKey("--api-id", apiId, "--name=  ");
    expect(await typing([""], ["keys", "delete-key", "--key-id", blank])).toMatchObject({ code: 2 });
    expect(await typing([blank], ["keys", "delete-key", "--key-id", blank])).toMatchObject({ code: 0 });
  });

  test("the question comes last: an invalid request ends with 2 and an unknown object with 4, unasked", async () => {
    for (const { namespace, verb } of destructive) {
      const { code, complained } = await typing(["anything"], [namespace, verb]);
      expect([verb, code, complained]).toEqual([verb, 2, [expect.stringMatching(/^latchkey: --[a-z]/)]]);
    }
    const unknown = [
      ["apis", "delete-api", "--api-id", "api_unknown"],
      ["keys", "delete-key", "--key-id", "key_unknown"],
      ["identities", "delete-identity", "--identity", "nobody"],
      ["migrations", "delete-migration", "--migration-id", "mig_unknown"],
      ["permissions", "delete-permission", "--permission", "no.such"],
      ["permissions", "delete-role", "--role", "nobody"],
      ["ratelimit", "delete-namespace", "--namespace", "nowhere"],
      ["ratelimit", "delete-override", "--namespace", "nowhere", "--identifier", "a"],
      ["root-keys", "delete-key", "--key-id", "rk_unknown"],
      ...["namespace delete", "migration delete", "root-key revoke"].map((name) => [...name.split(" "), "unknown"]),
    ];
    const onStore = { DATA_DIR: dataDir };
    for (const args of unknown) {
      const { code, complained } = await typing(["anything"], args);
      expect([args, code, complained]).toEqual([args, 4, [expect.stringMatching(/^latchkey: /)]]);
    }
    for (const args of unknown.slice(-3)) {
      const { code, complained } = await runCommand(args, onStore, { typed: ["anything"] });
      expect([args, code, complained]).toEqual([args, 4, [expect.stringMatching(/^latchkey: /)]]);
    }
  });

  test("figures that a root key may not read are unknown, with the permission, and block nothing", async () => {
    const apiId = await newApi("opaque");
    const mayDelete = await holder("api.*.delete_api");
    const { code, complained } = await runCommand(["apis", "delete-api", "--api-id", apiId], mayDelete, { typed: [apiId] });
    expect({ code, complained }).toEqual({
      code: 0,
      complained: [
        "This deletes the API:",
        `  id       ${apiId}`,
        expect.stringMatching(/^ {2}details {2}unknown: .*lacks the permission .*api\.\*\.read_api/),
        "Type the id to confirm: ",
        "Done.",
      ],
    });
    const other = await newApi("opaque");
    const mayRead = await holder("api.*.delete_api", "api.*.read_api");
    expect((await runCommand(["apis", "delete-api", "--api-id", other], mayRead, { typed: ["opaque"] })).complained).toEqual(
      expect.arrayContaining([
        expect.stringMatching(new RegExp(`^ {2}keys +unknown: the root key lacks api\\.${other}\\.read_key$`)),
        expect.stringMatching(new RegExp(`^ {2}verifications in the last 24 hours +unknown: the root key lacks api\\.${other}\\.read_an`)),
      ]),
    );
  });

  test("a root key that may not list the object's kind does not take it for missing", async () => {
    const { keyId } = await json("root-keys", "create-key", "--name", "till", "--permissions", "api.*.verify_key");
    const mayDelete = await holder("root_key.*.delete_root_key");
    const { code, complained } = await runCommand(["root-keys", "delete-key", "--key-id", keyId], mayDelete, { typed: [keyId] });
    expect({ code, complained: complained.slice(1, 3) }).toEqual({
      code: 0,
      complained: [`  id       ${keyId}`, "  details  unknown: the root key lacks root_key.*.read_root_key"],
    });
  });

  test("an unknown root key is refused before the question", async () => {
    const stranger = { ...env, LATCHKEY_ROOT_KEY: "lkr_unknown" };
    const { code, complained } = await runCommand(["apis", "delete-api", "--api-id", "api_unknown"], stranger, { typed: ["x"] });
    expect({ code, lines: complained.length }).toEqual({ code: 3, lines: 1 });
  });

  test("roles, permissions, overrides, namespaces, migrations and root keys are confirmed by their names", async () => {
    const apiId = await newApi("holders");
    await json("permissions", "create-permission", "--name", "Read", "--slug", "invoices.read");
    await json("permissions", "create-role", "--name", "clerk");
    await newKey("--api-id", apiId, "--permissions", "invoices.read", "--roles", "clerk");
    await json("ratelimit", "limit", "--namespace", "login", "--identifier", "a", "--limit", "5", "--duration", "1m");
    await json("ratelimit", "set-override", "--namespace", "login", "--identifier", "user_*", "--limit", "5", "--duration", "1m");
    const { migrationId } = await json("migrations", "create-migration", "--algorithm", "sha256", "--name", "old");
    const { keyId } = await json("root-keys", "create-key", "--name", "till", "--permissions", "api.*.verify_key");
    const deletions = [
      ["Read", "keys +1", "permissions", "delete-permission", "--permission", "invoices.read"],
      ["clerk", "keys +1", "permissions", "delete-role", "--role", "clerk"],
      ["user_*", "limit +5 in 60000 ms", "ratelimit", "delete-override", "--namespace", "login", "--identifier", "user_*"],
      ["login", "checks in the last 24 hours +unknown: .*analytics", "ratelimit", "delete-namespace", "--namespace", "login"],
      ["old", "algorithm +sha256", "migrations", "delete-migration", "--migration-id", migrationId],
      ["till", "last used +never", "root-keys", "delete-key", "--key-id", keyId],
    ] as const;
    for (const [name, fact, ...args] of deletions) {
      expect([name, (await typing(["wrong"], args)).code]).toEqual([name, 2]);
      const { code, complained } = await typing([name], args);
      expect([name, code]).toEqual([name, 0]);
      expect(complained).toContainEqual(expect.stringMatching(new RegExp(`^ {2}${fact}`)));
    }
  });

  test("a namespace is found by its id as well", async () => {
    await json("ratelimit", "limit", "--namespace", "meant", "--identifier", "a", "--limit", "5", "--duration", "1m");
    const [{ id }] = await json("ratelimit", "list-namespaces", "--search", "meant");
    const { code, complained } = await typing(["no"], ["ratelimit", "delete-namespace", "--namespace", id]);
    expect({ code, name: complained[1] }).toEqual({ code: 2, name: expect.stringMatching(/^ {2}name +meant$/) });
  });

  test("an identity is shown with its keys; what a deleted one left behind can still be erased", async () => {
    const apiId = await newApi("people");
    const externalId = "customer_42";
    for (let i = 0; i < 2; i++) await newKey("--api-id", apiId, "--external-id", externalId);
    const wrong = await typing(["customer"], ["identity", "erase", externalId]);
    expect(wrong).toMatchObject({ code: 2, printed: [] });
    expect(wrong.complained.slice(0, 2)).toEqual(["This erases the identity:", expect.stringMatching(/^ {2}external id +customer_42$/)]);
    expect(wrong.complained).toContainEqual(expect.stringMatching(/^ {2}keys +2$/));
    const { code } = await typing([externalId], ["identities", "delete-identity", "--identity", externalId]);
    expect(code).toBe(0);
    const erased = await typing([externalId], ["identity", "erase", externalId]);
    expect(erased).toMatchObject({ code: 0, printed: [expect.stringContaining("customer_42: erased")] });
    expect(erased.complained).toContainEqual(expect.stringMatching(/^ {2}state +already deleted/));
  });

  test("on the store the same is asked, and analytics are left to a running service", async () => {
    await json("ratelimit", "limit", "--namespace", "signup", "--identifier", "a", "--limit", "5", "--duration", "1m");
    const onStore = { DATA_DIR: dataDir };
    const asked = await runCommand(["namespace", "delete", "signup"], onStore, { typed: ["sign"] });
    expect(asked).toMatchObject({ code: 2 });
    expect(asked.complained).toEqual([
      "This deletes the namespace:",
      expect.stringMatching(/^ {2}name +signup$/),
      expect.stringMatching(/^ {2}id +rlns_\w+$/),
      expect.stringMatching(/^ {2}checks in the last 24 hours +unknown: only a running service/),
      "Type the name to confirm: ",
      "latchkey: nothing was done: that is not the name",
    ]);
    expect(await runCommand(["namespace", "delete", "signup"], onStore, { typed: ["signup"] })).toMatchObject({ code: 0 });
    const { keyId } = await json("root-keys", "create-key", "--name", "till", "--permissions", "api.*.verify_key");
    for (const where of [env, onStore]) {
      expect(await runCommand(["root-key", "revoke", keyId], where, { typed: [keyId] })).toMatchObject({ code: 2 });
      const { code, complained } = await runCommand(["root-key", "revoke", keyId], where, { typed: ["till"] });
      expect({ code, complained: [complained[0], complained.at(-1)] }).toEqual({
        code: 0,
        complained: ["This revokes the root key:", `Revoked ${keyId}.`],
      });
    }
    const { migrationId } = await json("migrations", "create-migration", "--algorithm", "sha256", "--name", "old");
    expect(await runCommand(["migration", "delete", migrationId], onStore, { typed: ["older"] })).toMatchObject({ code: 2 });
    expect(await runCommand(["migration", "delete", migrationId], onStore, { typed: ["old"] })).toMatchObject({ code: 0 });
  });

  test("a name steers no terminal, and is typed as it is shown", async () => {
    const apiId = await newApi("\u001b[2Jred\nalert");
    const { code, complained } = await typing([" [2Jred alert"], ["apis", "delete-api", "--api-id", apiId]);
    expect({ code, line: complained[1] }).toEqual({ code: 0, line: expect.stringMatching(/^ {2}name +\[2Jred alert$/) });
  });
});

describe("askLine", () => {
  const ask = (input: PassThrough) => {
    const output = new PassThrough();
    return { answer: askLine(input, output, "Name? "), asked: () => String(output.read()) };
  };

  test("resolves to the line that is typed, without its end", async () => {
    const input = new PassThrough();
    const { answer, asked } = ask(input);
    input.write("pay");
    input.write("ments\nmore");
    expect(await answer).toBe("payments");
    expect(asked()).toBe("Name? ");
  });

  test("resolves to undefined at the end of input, also where that is over before", async () => {
    const input = new PassThrough();
    const { answer } = ask(input);
    input.end();
    expect(await answer).toBeUndefined();
    const read = new PassThrough();
    read.resume().end();
    await new Promise((resolve) => read.once("end", resolve));
    expect(await ask(read).answer).toBeUndefined();
  });
});
