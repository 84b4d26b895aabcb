import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { systemClock } from "../../src/platform/base/clock.ts";
import { openStore } from "../../src/platform/storage/openStore.ts";
import { testConfig } from "../support/api.ts";
import { createMigration, SEAM } from "../support/migrations.ts";
import { places } from "../support/places.ts";
import { eventsIn } from "../support/written.ts";

test.each([
  [["migration"], 'no command "migration"'],
  [["migration", "create"], "--algorithm: want one of sha256, github.com/seamapi/prefixed-api-key"],
  [["migration", "create", "--algorithm"], "--algorithm"],
  [["migration", "create", "--algorithm", "md5"], "--algorithm: want one of"],
  [["migration", "create", "--algorithm", "SHA256"], "--algorithm: want one of"],
  [["migration", "create", "--algorithm", ""], "--algorithm: want one of"],
  [["migration", "create", "sha256"], 'unexpected argument "sha256"'],
  [["migration", "list", "all"], 'unexpected argument "all"'],
  [["migration", "create", "--algorithm", "sha256", "--name", ""], "--name: 0 characters, want 1 to 255"],
  [["migration", "create", "--algorithm", "sha256", "--name", "😀".repeat(256)], "--name: 256 characters, want 1 to 255"],
  [["migration", "delete"], "ID is missing"],
  [["migration", "delete", "mig_1", "mig_2"], 'unexpected argument "mig_2"'],
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

  const create = (algorithm: string): Promise<string> => createMigration(algorithm, env);

  test("list shows nothing but its header before there is one", async () => {
    expect((await runCommand(["root-key", "create", "--name", "first"], env)).code).toBe(0);
    expect(await runCommand(["migration", "list"], env)).toEqual({
      code: 0,
      printed: [expect.stringMatching(/^ID +ALGORITHM +CREATED +NAME$/)],
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

  test("[management §8] list shows a name, and delete removes the migration, once", async () => {
    const created = await runCommand(["migration", "create", "--algorithm", "sha256", "--name", "old system"], env);
    const [id = ""] = created.printed;
    const lines = async () => (await runCommand(["migration", "list"], env)).printed.filter((line) => line.startsWith(id));
    expect(await lines()).toEqual([expect.stringMatching(/ {2}old system$/)]);
    expect(await runCommand(["migration", "delete", id, "--yes"], env)).toEqual({ code: 0, printed: [], complained: [`Deleted ${id}.`] });
    expect(await lines()).toEqual([]);
    for (const unknown of [id, "mig_unknown"]) {
      const { code, complained } = await runCommand(["migration", "delete", unknown, "--yes"], env);
      expect({ code, complained }).toEqual({ code: 4, complained: [expect.stringContaining(`${unknown} does not exist`)] });
    }
    const store = await openStore({ ...testConfig(env), clock: systemClock, mode: "tool" });
    await store.prepare();
    const events = (await eventsIn(store)).filter(({ resources }) => resources.some((resource) => resource.id === id));
    await store.close();
    expect(events.map(({ event, actor, resources }) => [event, actor.type, resources])).toEqual(
      ["migration.create", "migration.delete"].map((event) => [event, "system", [{ type: "migration", id, name: "old system" }]]),
    );
  });
});
