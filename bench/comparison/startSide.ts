import { importCreditKeys } from "../importCreditKeys.ts";
import { rpcTargets } from "../rpcTargets.ts";
import {
  createBenchObjects,
  createTarget,
  creditTargets,
  type Engine,
  limitTargets,
  PERMISSIONS,
  type Served,
  serviceTargets,
  startAt,
  type Target,
  v2,
} from "../targets.ts";

/** The rows on each engine in the order of their measurement; the one that makes the store larger is the last. */
export const ROWS: Readonly<Record<Exclude<Engine, "Valkey">, readonly string[]>> = {
  embedded: ["verify-unlimited", "verify", "limit-embedded", "limits-embedded", "grpc-verify", "credits-one", "credits-many", "create"],
  MongoDB: ["limit-MongoDB", "limits-MongoDB", "credits-one-MongoDB", "credits-many-MongoDB", "create-MongoDB"],
};

/** A revision that runs. */
export interface Side {
  /** Throws where there is no such row. */
  readonly targetOf: (row: string) => Target;
  readonly stop: () => Promise<void>;
}

const unlimitedTarget = async (served: Served, apiId: string): Promise<Target> => {
  const { key } = await served.call<{ key: string }>("keys.createKey", { apiId, permissions: ["documents.read", "documents.write"] });
  const description = "/v2 keys.verifyKey: warm, two permissions, no rate limit";
  return v2(served)({ name: "verify-unlimited", description }, "keys.verifyKey", { key, permissions: PERMISSIONS });
};

/** Starts the service of a checkout on an empty store, where it creates what the rows call over the public API. */
export const startSide = async (root: string, mongodbUrl: string | undefined): Promise<Side> => {
  const served = await startAt(mongodbUrl, { root });
  try {
    const service = { ...served, ...(await createBenchObjects(served)) };
    await importCreditKeys(served, service.apiId, root);
    const engine: Engine = mongodbUrl === undefined ? "embedded" : "MongoDB";
    const targets = [
      await unlimitedTarget(served, service.apiId),
      ...serviceTargets(service),
      ...rpcTargets(service),
      ...limitTargets(served, engine),
      ...creditTargets(served, engine),
      createTarget(served, service.apiId, engine),
    ];
    return {
      targetOf: (row) => {
        const found = targets.find(({ name }) => name === row);
        if (found === undefined) throw new Error(`there is no row ${row}`);
        return found;
      },
      stop: served.stop,
    };
  } catch (cause) {
    await served.stop();
    throw cause;
  }
};
