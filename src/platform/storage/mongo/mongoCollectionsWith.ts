import type { Db, Document } from "mongodb";
import type { CollectionName } from "../port/documents.ts";

/** FerretDB reads a large collection from its beginning, rather than the index, unless it is asked for an order. */
const findOneIn = (name: CollectionName, field: string): Document[] => [
  { $match: { [field]: { $exists: true } } },
  { $sort: { [field]: 1 } },
  { $limit: 1 },
  { $project: { _id: 0, name: { $literal: name } } },
];

/** A row for each of the collections that has a document with this field, by a question that is asked of the first. */
export const rowsOfCollectionsWith = (field: string, first: CollectionName, others: readonly CollectionName[]): Document[] => [
  ...findOneIn(first, field),
  ...others.map((name) => ({ $unionWith: { coll: name, pipeline: findOneIn(name, field) } })),
];

/** One command for all: a command costs more, here and on the server, than the look into an index that it asks for. */
export const mongoCollectionsWith = async <N extends CollectionName>(
  database: Db,
  field: string,
  among: readonly N[],
  maxTimeMS: number,
): Promise<readonly N[]> => {
  const [first, ...others] = among;
  if (first === undefined) return [];
  const rows = rowsOfCollectionsWith(field, first, others);
  const found = await database.collection(first).aggregate<{ readonly name: N }>(rows, { maxTimeMS }).toArray();
  return found.map(({ name }) => name);
};
