import { describe, expect, test } from "vitest";
import { dataOf, expectError } from "../../support/api.ts";
import { everywhere } from "../../support/everywhere.ts";
import { prefixedKey, SEAM } from "../../support/migrations.ts";
import { eventsBy } from "../../support/written.ts";

interface ShownMigration {
  readonly migrationId: string;
  readonly algorithm: string;
  readonly name?: string;
  readonly createdAt: number;
}

const NOT_FOUND = "unkey/data/migration_not_found";

everywhere((run) => {
  const create = async (fields: object = {}, rootKey?: string): Promise<string> =>
    (await run.data("migrations.createMigration", { algorithm: SEAM, ...fields }, rootKey)).migrationId as string;
  const remove = (migrationId: string, rootKey?: string) => run.call("migrations.deleteMigration", { migrationId }, rootKey);
  const page = async (body: object) => {
    const answer = await run.call("migrations.listMigrations", body);
    return { items: dataOf(answer) as unknown as ShownMigration[], pagination: answer.body.pagination };
  };
  const list = async (): Promise<ShownMigration[]> => {
    const all: ShownMigration[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const { items, pagination } = await page({ limit: 3, cursor });
      all.push(...items);
      cursor = pagination?.cursor;
    }
    return all;
  };
  /** Keys that wait for their first use. */
  const importMany = async (migrationId: string, count: number): Promise<string[]> => {
    const foreign = Array.from({ length: count }, () => prefixedKey());
    const apiId = await run.createApi();
    const { migrated } = await run.data("keys.migrateKeys", { apiId, migrationId, keys: foreign.map(({ hash }) => ({ hash })) });
    expect(migrated).toHaveLength(count);
    return foreign.map(({ key }) => key);
  };

  test("[management §7] a created migration is listed, ascending by id, with its name if it has one, and takes keys", async () => {
    const before = Date.now();
    const ids = [await create(), await create({ algorithm: "sha256", name: "😀 from the old system" })];
    for (const id of ids) expect(id).toMatch(/^mig_[A-Za-z0-9]{16,}$/);
    const all = await list();
    expect(all.map(({ migrationId }) => migrationId)).toEqual(all.map(({ migrationId }) => migrationId).sort());
    const [plain, named] = ids.map((id) => all.find(({ migrationId }) => migrationId === id));
    expect(plain).toEqual({ migrationId: ids[0], algorithm: SEAM, createdAt: expect.any(Number) });
    expect(named).toEqual({ migrationId: ids[1], algorithm: "sha256", name: "😀 from the old system", createdAt: expect.any(Number) });
    expect(plain?.createdAt).toBeGreaterThanOrEqual(before);
    const [key] = await importMany(ids[0] as string, 1);
    expect(await run.verify(key as string, { migrationId: ids[0] })).toMatchObject({ valid: true });
  });

  test("[management §8] keys that were waiting for a deleted migration no longer verify; used ones keep working", async () => {
    const migrationId = await create();
    const [used = "", waiting = ""] = await importMany(migrationId, 2);
    expect(await run.verify(used, { migrationId })).toMatchObject({ valid: true });
    expect(dataOf(await remove(migrationId))).toEqual({});
    expect(await run.verify(waiting, { migrationId })).toMatchObject({ valid: false, code: "NOT_FOUND" });
    expect(await run.verify(used, { migrationId })).toMatchObject({ valid: true });
    expect(await run.verify(used)).toMatchObject({ valid: true });
    expect((await list()).map((each) => each.migrationId)).not.toContain(migrationId);
    const { hash } = prefixedKey();
    const imported = { apiId: await run.createApi(), migrationId, keys: [{ hash }] };
    expectError(await run.call("keys.migrateKeys", imported), 404, NOT_FOUND);
  });

  test("[protocol §7] another node applies a deletion, too", async () => {
    const other = await run.other();
    const migrationId = await create();
    // Each key is used for one check: a key that was answered VALID is migrated.
    const keys = await importMany(migrationId, 200);
    const next = async () => (await run.data("keys.verifyKey", { key: keys.pop(), migrationId }, undefined, other)).code;
    expect(await next()).toBe("VALID");
    dataOf(await remove(migrationId));
    await expect.poll(next, { timeout: 10_000, interval: 100 }).toBe("NOT_FOUND");
    expect(keys.length).toBeGreaterThan(0);
  });

  test("[management §8] an unknown or deleted migration is 404, and of deletions at once one happens", async () => {
    const caller = run.unique("migrator");
    const rootKey = await run.api.createRootKey({ name: caller });
    const migrationId = await create({ name: "doomed" }, rootKey);
    const answers = await Promise.all(Array.from({ length: 5 }, () => remove(migrationId, rootKey)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(4).fill(404)]);
    for (const id of [migrationId, "mig_unknown", "x".repeat(255), "ünï😀"]) expectError(await remove(id), 404, NOT_FOUND);
    const resources = [{ type: "migration", id: migrationId, name: "doomed" }];
    expect(await eventsBy(run.api.store, caller)).toEqual([
      expect.objectContaining({ event: "migration.create", resources }),
      expect.objectContaining({ event: "migration.delete", resources }),
    ]);
  });

  test("[management §8] each procedure asks for its own permission, before any look-up", async () => {
    const migrationId = await create();
    const calls = [
      ["migrations.createMigration", "create_migration", { algorithm: "sha256" }],
      ["migrations.listMigrations", "read_migration", {}],
      ["migrations.deleteMigration", "delete_migration", { migrationId }],
    ] as const;
    for (const [procedure, action, body] of calls) {
      const others = calls.flatMap(([, other]) => (other === action ? [] : [`migration.*.${other}`]));
      const weak = await run.api.createRootKey({ permissions: others });
      for (const each of [body, ...(action === "delete_migration" ? [{ migrationId: "mig_unknown" }] : [])]) {
        const error = expectError(await run.call(procedure, each, weak), 403, "unkey/authorization/insufficient_permissions");
        expect(error.detail).toContain(`migration.*.${action}`);
      }
      const own = await run.api.createRootKey({ permissions: [`migration.*.${action}`] });
      expect((await run.call(procedure, body, own)).status).toBe(200);
    }
  });

  describe("bounds", () => {
    test.each([
      ["migrations.createMigration", { algorithm: "md5" }, "body.algorithm"],
      ["migrations.createMigration", {}, "body.algorithm"],
      ["migrations.createMigration", { algorithm: "sha256", name: "" }, "body.name"],
      ["migrations.createMigration", { algorithm: "sha256", name: "😀".repeat(256) }, "body.name"],
      ["migrations.listMigrations", { limit: 0 }, "body.limit"],
      ["migrations.listMigrations", { limit: 101 }, "body.limit"],
      ["migrations.listMigrations", { cursor: "mig_1" }, "body.cursor"],
      ["migrations.listMigrations", { cursor: "c".repeat(1025) }, "body.cursor"],
      ["migrations.deleteMigration", {}, "body.migrationId"],
      ["migrations.deleteMigration", { migrationId: "mi" }, "body.migrationId"],
      ["migrations.deleteMigration", { migrationId: "m".repeat(256) }, "body.migrationId"],
    ])("[management §8] %s refuses %j", async (procedure, body, location) => {
      // Over Protobuf there is no other spelling of an enum than its values.
      if ("algorithm" in body && body.algorithm === "md5" && run.edge !== "v2") return;
      const error = expectError(await run.call(procedure, body), 400, "unkey/application/invalid_input");
      expect(error.errors?.map((each) => each.location)).toEqual([location]);
    });

    test("[management §8] a name has 1 to 255 characters", async () => {
      for (const name of ["x", "😀".repeat(255)]) {
        const id = await create({ name });
        expect((await list()).find(({ migrationId }) => migrationId === id)?.name).toBe(name);
      }
    });
  });
});
