import { hash, randomBytes } from "node:crypto";
import { createId } from "../../src/domain/ids.ts";
import type { MigrationDocument } from "../../src/storage/port/documents.ts";
import type { Store } from "../../src/storage/port/store.ts";
import { createMigrationsRepository } from "../../src/storage/repositories/migrationsRepository.ts";

export const SEAM = "github.com/seamapi/prefixed-api-key";

/** Registers a migration as the command line does; resolves to its id. */
export const registerMigration = async (store: Store, algorithm: MigrationDocument["algorithm"]): Promise<string> => {
  const id = createId("mig", 1_750_000_000_000);
  await createMigrationsRepository(store).insert({ id, algorithm }, 1_750_000_000_000, []);
  return id;
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

/** A key of the library prefixed-api-key: `<prefix>_<short>_<long>`, of which only the long token was hashed. */
export const prefixedKey = (
  prefix = "acme",
  shortToken: string = randomBytes(5).toString("hex").slice(0, 8),
  longToken: string = randomBytes(12).toString("hex"),
): ForeignKey => ({ key: `${prefix}_${shortToken}_${longToken}`, hash: hash("sha256", longToken, "hex") });
