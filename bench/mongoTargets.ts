import { importCreditKeys } from "./importCreditKeys.ts";
import { createTarget, creditTargets, limitTargets, type PlacedService, type Target } from "./targets.ts";

/** The calls of `/v2` whose cost depends on the store, on a running service with an empty database. */
export const mongoTargets = async (served: PlacedService): Promise<Target[]> => {
  const { apiId } = await served.call<{ apiId: string }>("apis.createApi", { name: "bench" });
  await importCreditKeys(served, apiId);
  return [...limitTargets(served, "MongoDB"), ...creditTargets(served, "MongoDB"), createTarget(served, apiId, "MongoDB")];
};
