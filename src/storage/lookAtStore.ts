import type { OpenStoreOptions } from "./openStore.ts";
import type { StoreLook } from "./port/storeLook.ts";
import { createNodesRepository } from "./repositories/nodesRepository.ts";
import { refuseUnusable } from "./schemaVersion.ts";

type Place = Pick<OpenStoreOptions, "mongodbUrl" | "dataDir" | "clock">;

const lookAtMongo = async <T>(url: string, clock: Place["clock"], use: (look: StoreLook) => Promise<T>): Promise<T> => {
  const { openMongoStore } = await import("./mongo/openMongoStore.ts");
  const store = openMongoStore({ url, clock, mode: "look" });
  try {
    await store.prepare();
    const [schema, changes, nodes] = await Promise.all([
      store.collection("system").findOne({ _id: "schema" }),
      store.changesDue?.() ?? [],
      createNodesRepository(store).list(store.clock.now()),
    ]);
    return await use({
      schema,
      changes,
      count: async (name) => (await store.estimate?.(name)) ?? 0,
      nodes,
    });
  } finally {
    await store.close();
  }
};

/**
 * Looks at a store of either engine for the time of `use`. Nothing in it changes, neither its schema nor its indexes. Rejects where this
 * version cannot use it, see `refuseUnusable`.
 */
export const lookAtStore = async <T>({ mongodbUrl, dataDir, clock }: Place, use: (look: StoreLook) => Promise<T>): Promise<T> => {
  const checked = (look: StoreLook): Promise<T> => {
    refuseUnusable(look.schema);
    return use(look);
  };
  if (mongodbUrl !== undefined) return lookAtMongo(mongodbUrl, clock, checked);
  const { lookAtEmbedded } = await import("./embedded/lookAtEmbedded.ts");
  return lookAtEmbedded(dataDir, checked);
};
