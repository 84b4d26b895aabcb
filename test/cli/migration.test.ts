import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dataOf } from "../support/api.ts";
import { runCommand } from "../support/commandLine.ts";
import { v2Edge } from "../support/edges.ts";
import { plainKey, prefixedKey, SEAM } from "../support/migrations.ts";
import { createRootKeyOn, startServiceOn } from "../support/placed.ts";
import { places } from "../support/places.ts";

test.each([
  [["migration"], 'no command "migration"'],
  [["migration", "create"], "--algorithm: want one of sha256, github.com/seamapi/prefixed-api-key"],
  [["migration", "create", "--algorithm"], "--algorithm"],
  [["migration", "create", "--algorithm", "md5"], "--algorithm: want one of"],
  [["migration", "create", "--algorithm", "SHA256"], "--algorithm: want one of"],
  [["migration", "create", "--algorithm", ""], "--algorithm: want one of"],
  [["migration", "create", "sha256"], 'unexpected argument "sha256"'],
  [["migration", "list", "all"], 'unexpected argument "all"'],
  [["migration", "delete"], 'no command "migration delete"'],
])("[keys §7] wrong usage is refused with 2 and opens no store: %j", async (args, message) => {
  const { code, printed, complained } = await runCommand(args, { DATA_DIR: "/nonexistent/latchkey" });
  expect({ code, printed }).toEqual({ code: 2, printed: [] });
  expect(complained.join("\n")).toContain(message);
});

describe.each(places)("[keys §7] on $name", ({ open, close }) => {
  let env: Record<string, string>;
  beforeAll(async () => {
    env = await open();
  });
  afterAll(() => close(env));

  const create = async (algorithm: string): Promise<string> => {
    const { code, printed, complained } = await runCommand(["migration", "create", "--algorithm", algorithm], env);
    expect({ code, complained }).toEqual({ code: 0, complained: [] });
    expect(printed).toEqual([expect.stringMatching(/^mig_[A-Za-z0-9]{16,}$/)]);
    return printed[0] ?? "";
  };

  test("list shows nothing but its header before there is one", async () => {
    expect((await runCommand(["root-key", "create", "--name", "first"], env)).code).toBe(0);
    expect(await runCommand(["migration", "list"], env)).toEqual({
      code: 0,
      printed: [expect.stringMatching(/^ID +ALGORITHM +CREATED$/)],
      complained: [],
    });
  });

  test("create prints the id alone, and list shows every migration with its algorithm, oldest first", async () => {
    const ids = [await create("sha256"), await create(SEAM), await create("sha256")];
    expect(new Set(ids).size).toBe(3);
    const { code, printed } = await runCommand(["migration", "list"], env);
    expect(code).toBe(0);
    const time = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";
    expect(printed.slice(1)).toEqual(
      [`${ids[0]} +sha256 +${time}`, `${ids[1]} +${SEAM} +${time}`, `${ids[2]} +sha256 +${time}`].map((row) =>
        expect.stringMatching(new RegExp(`^${row}$`)),
      ),
    );
  });

  test("a running service takes a migration that the command line makes beside it", async () => {
    await using service = await startServiceOn(env);
    const rootKey = await createRootKeyOn(env);
    const call = async (procedure: string, body: object): Promise<Record<string, unknown>> =>
      dataOf(await v2Edge(service.url).call(procedure, body, rootKey));
    const { apiId } = await call("apis.createApi", { name: "imports" });
    for (const [algorithm, foreign] of [
      ["sha256", plainKey()],
      [SEAM, prefixedKey()],
    ] as const) {
      const migrationId = await create(algorithm);
      const { migrated } = await call("keys.migrateKeys", { apiId, migrationId, keys: [{ hash: foreign.hash }] });
      const [{ keyId }] = migrated as [{ keyId: string }];
      expect(await call("keys.verifyKey", { key: foreign.key, migrationId })).toMatchObject({ valid: true, keyId });
      expect(await call("keys.verifyKey", { key: foreign.key })).toMatchObject({ valid: true, keyId });
    }
  });
});
