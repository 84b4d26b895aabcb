import { createNodesRepository } from "../features/nodes/nodesRepository.ts";
import { lookAtEmbedded } from "../platform/storage/embedded/lookAtEmbedded.ts";
import { type OpenStoreOptions, openMongo } from "../platform/storage/openStore.ts";
import type { StoreLook } from "../platform/storage/port/storeLook.ts";
import { refuseUnusable } from "../platform/storage/schemaVersion.ts";

type Place = Pick<OpenStoreOptions, "mongodbUrl" | "dataDir" | "clock" | "limitsFor">;

const lookAtMongo = async <T>(url: string, { clock, limitsFor = "service" }: Place, use: (look: StoreLook) => Promise<T>): Promise<T> => {
  const store = await openMongo({ url, clock, mode: "look", limitsFor });
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
export const lookAtStore = async <T>(place: Place, use: (look: StoreLook) => Promise<T>): Promise<T> => {
  const { mongodbUrl, dataDir } = place;
  const checked = (look: StoreLook): Promise<T> => {
    refuseUnusable(look.schema);
    return use(look);
  };
  if (mongodbUrl !== undefined) return lookAtMongo(mongodbUrl, place, checked);
  return lookAtEmbedded(dataDir, checked);
};
