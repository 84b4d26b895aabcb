import { chunks } from "../../platform/util/chunks.ts";

/** Documents that one query looks for. */
const LOOKED_UP = 1_000;

/** Looks objects up by their ids, each once; those that are gone are missing. */
export const readAll = async <D extends { readonly _id: string }>(
  ids: readonly string[],
  findMany: (ids: readonly string[]) => Promise<readonly D[]>,
): Promise<ReadonlyMap<string, D>> => {
  const found = new Map<string, D>();
  for (const chunk of chunks([...new Set(ids)], LOOKED_UP)) for (const document of await findMany(chunk)) found.set(document._id, document);
  return found;
};
