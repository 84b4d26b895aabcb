import { hash, randomBytes } from "node:crypto";
import { expect } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { createMigrationsRepository } from "../../src/features/migrations/migrationsRepository.ts";
import { createId } from "../../src/platform/base/ids.ts";
import type { MigrationDocument } from "../../src/platform/storage/port/documents.ts";
import type { Store } from "../../src/platform/storage/port/store.ts";

export const SEAM = "github.com/seamapi/prefixed-api-key";

/** Registers a migration as the command line does; resolves to its id. */
export const registerMigration = async (store: Store, algorithm: MigrationDocument["algorithm"]): Promise<string> => {
  const id = createId("mig", 1_750_000_000_000);
  await createMigrationsRepository(store).insert({ id, algorithm }, 1_750_000_000_000, []);
  return id;
};

/** `latchkey migration create` on the store of `env`; resolves to the id that it prints, alone. */
export const createMigration = async (algorithm: string, env: Record<string, string>): Promise<string> => {
  const { code, printed, complained } = await runCommand(["migration", "create", "--algorithm", algorithm], env);
  expect({ code, complained }).toEqual({ code: 0, complained: [] });
  expect(printed).toEqual([expect.stringMatching(/^mig_[A-Za-z0-9]{16,}$/)]);
  return printed[0] ?? "";
};

/** A key of another system and what it stored of it. */
export interface ForeignKey {
  readonly key: string;
  readonly hash: string;
}

/** A key whose hash has our own form. */
export const plainKey = (key: string = `old_${randomBytes(12).toString("hex")}`): ForeignKey => ({
  key,
  hash: hash("sha256", key, "base64"),
});

/** A key of the library prefixed-api-key: `<prefix>_<short>_<long>`. Only the long token is hashed. */
export const prefixedKey = (
  prefix = "acme",
  shortToken: string = randomBytes(5).toString("hex").slice(0, 8),
  longToken: string = randomBytes(12).toString("hex"),
): ForeignKey => ({ key: `${prefix}_${shortToken}_${longToken}`, hash: hash("sha256", longToken, "hex") });
