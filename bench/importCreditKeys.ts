import { hash } from "node:crypto";
import { keyOf } from "./population.ts";
import { registerMigration } from "./runCommand.ts";
import { CREDIT_KEYS, PLENTY, type PlacedService } from "./targets.ts";

/** Imports the keys that `creditTargets` spends into an API of a running service. @param root of the checkout that it runs from, if another one. */
export const importCreditKeys = async ({ call, env }: PlacedService, apiId: string, root?: string): Promise<void> => {
  const migrationId = registerMigration(env, root);
  const keys = Array.from({ length: CREDIT_KEYS }, (_, i) => ({
    hash: hash("sha256", keyOf(i), "base64"),
    credits: { remaining: PLENTY },
  }));
  const { failed } = await call<{ failed: readonly string[] }>("keys.migrateKeys", { apiId, migrationId, keys });
  if (failed.length > 0) throw new Error(`${failed.length} of ${CREDIT_KEYS} keys were not imported`);
};
