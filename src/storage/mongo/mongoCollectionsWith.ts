import type { Db, Document } from "mongodb";
import type { CollectionName } from "../port/documents.ts";

/** Finds one in a collection. FerretDB reads a large one from its beginning, rather than the index, unless a find asks for an order. */
export const lookForOne = (field: string, name: CollectionName): Document[] => [
  { $match: { [field]: { $exists: true } } },
  { $sort: { [field]: 1 } },
  { $limit: 1 },
  { $project: { _id: 0, name: { $literal: name } } },
];

/** One command for all: it costs more, here and on the server, than what it looks for in an index. */
export const mongoCollectionsWith = async <N extends CollectionName>(
  database: Db,
  field: string,
  among: readonly N[],
  maxTimeMS: number,
): Promise<readonly N[]> => {
  const [first, ...others] = among;
  if (first === undefined) return [];
  const pipeline = [
    ...lookForOne(field, first),
    ...others.map((name) => ({ $unionWith: { coll: name, pipeline: lookForOne(field, name) } })),
  ];
  const found = await database.collection(first).aggregate<{ readonly name: N }>(pipeline, { maxTimeMS }).toArray();
  return found.map(({ name }) => name);
};
