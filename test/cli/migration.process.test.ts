// @same-on-every-engine
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { createRootKeyOn, startServiceOn } from "../../bench/harness/placed.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { dataOf } from "../support/api.ts";
import { createMigration, plainKey, prefixedKey, SEAM } from "../support/migrations.ts";
import { places } from "../support/places.ts";

describe.each(places)("[keys §7] on $name", ({ open, close }) => {
  let env: Record<string, string>;
  beforeAll(async () => {
    env = await open();
  });
  afterAll(() => close(env));

  const create = (algorithm: string): Promise<string> => createMigration(algorithm, env);

  test("[management §8] a running service applies a deletion", async () => {
    await using service = await startServiceOn(env);
    const rootKey = await createRootKeyOn(env);
    const call = async (procedure: string, body: object): Promise<Record<string, unknown>> =>
      dataOf(await v2Edge(service.url).call(procedure, body, rootKey));
    const { apiId } = await call("apis.createApi", { name: "imports" });
    const migrationId = await create(SEAM);
    // Each key is used for one check: a key that was answered VALID is migrated.
    const waiting = Array.from({ length: 200 }, () => prefixedKey());
    await call("keys.migrateKeys", { apiId, migrationId, keys: waiting.map(({ hash }) => ({ hash })) });
    const next = async () => (await call("keys.verifyKey", { key: waiting.pop()?.key, migrationId })).code;
    expect(await next()).toBe("VALID");
    expect((await runCommand(["migration", "delete", migrationId, "--yes"], env)).code).toBe(0);
    await expect.poll(next, { timeout: 10_000, interval: 100 }).toBe("NOT_FOUND");
    expect(waiting.length).toBeGreaterThan(0);
  });

  test("a running service accepts a migration that the command line makes", async () => {
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
