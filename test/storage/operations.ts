import fc from "fast-check";
import { WORKSPACE_ID } from "../../src/platform/storage/port/baseDocument.ts";
import { type BulkOperation, type Collection, containsText, type Filter, type Update } from "../../src/platform/storage/port/collection.ts";
import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../src/platform/storage/port/errors.ts";

/** One step of a random program: does the same to any collection and tells what it saw. */
export interface Step {
  readonly description: string;
  readonly run: (keys: Collection<KeyDocument>) => Promise<unknown>;
}

const texts = ["a", "A", "b", "ab", "", "é", "1", "true", "[1]", '{"a":1}', "\u{1F511}", "x\u0000y", "a.b", "50%", "_", "'", '"', "\\"];
const text = fc.constantFrom(...texts);
const number = fc.oneof(fc.integer({ min: -3, max: 5 }), fc.constantFrom(0.5, 2 ** 31, 2 ** 31 - 1, 2 ** 53 - 1, -(2 ** 40)));
const listOf = <T>(member: fc.Arbitrary<T>) => fc.array(member, { maxLength: 4 });
const someOf = <T>(member: fc.Arbitrary<T>) => fc.uniqueArray(member, { minLength: 1, maxLength: 3 });
const item = fc.record({ id: fc.constantFrom("r1", "r2", "r3"), name: text, limit: number, duration: number, autoApply: fc.boolean() });
const refill = fc.record({ interval: fc.constantFrom("daily" as const, "monthly" as const), amount: number });
const id = fc.constantFrom("k1", "k2", "k3", "k4", "k5");
const hash = fc.constantFrom("h1", "h2", "h3");

const optional = {
  name: text,
  remaining: number,
  expires: number,
  enabled: fc.boolean(),
  lastUsedAt: number,
  hash,
  meta: text,
  refill,
  ratelimits: listOf(item),
  permissionIds: listOf(text),
  // Without repetitions, which mingo would remove when it adds to the set.
  roleIds: fc.uniqueArray(text, { maxLength: 4 }),
};
const fields = fc.record(optional, { requiredKeys: [] });
const document = fc.tuple(id, fields).map(([_id, own]) => ({ _id, workspaceId: WORKSPACE_ID, v: 1, ...own }) as unknown as KeyDocument);

const scalar = fc.oneof(text, number, fc.boolean());
/** Also of a type that the field never has: then nothing is equal, greater or less. */
const condition = fc.oneof(
  scalar,
  fc.record({ $in: fc.array(scalar, { maxLength: 3 }) }),
  fc
    .record({ $gt: scalar, $gte: scalar, $lt: scalar, $lte: scalar }, { requiredKeys: [] })
    .filter((range) => Object.keys(range).length > 0),
  fc.record({ $exists: fc.boolean() }),
  text.map(containsText),
);
const presence = fc.record({ $exists: fc.boolean() });
const conditions = fc.record(
  { name: condition, remaining: condition, enabled: condition, hash: condition, refill: presence, roleIds: presence, meta: condition },
  { requiredKeys: [] },
);
const filter: fc.Arbitrary<Filter<KeyDocument>> = fc
  .tuple(conditions, fc.option(fc.array(conditions, { minLength: 1, maxLength: 3 })), fc.option(fc.uniqueArray(id)))
  .map(([own, $or, ids]) => ({ ...own, ...($or && { $or }), ...(ids && { _id: { $in: ids } }) }) as unknown as Filter<KeyDocument>);

/** Names one document, so that it is no matter which of several an engine takes. */
const filterOfOne = fc.tuple(id, filter).map(([_id, rest]) => ({ ...rest, _id }) as Filter<KeyDocument>);

/** Every field goes to one operator at most, as MongoDB demands. */
const update: fc.Arbitrary<Update<KeyDocument>> = fc
  .record(
    {
      remaining: fc.oneof(
        number.map((by) => ({ $inc: by })),
        number.map((to) => ({ $max: to })),
        number.map((to) => ({ $set: to })),
        fc.constant({ $unset: "" }),
      ),
      lastUsedAt: fc.oneof(
        number.map((to) => ({ $max: to })),
        number.map((by) => ({ $inc: by })),
      ),
      name: fc.oneof(
        text.map((to) => ({ $set: to })),
        fc.constant({ $unset: "" }),
      ),
      enabled: fc.boolean().map((to) => ({ $set: to })),
      hash: fc.oneof(
        hash.map((to) => ({ $set: to })),
        fc.constant({ $unset: "" }),
      ),
      refill: fc.oneof(
        refill.map((to) => ({ $set: to })),
        fc.constant({ $unset: "" }),
      ),
      permissionIds: fc.oneof(
        someOf(text).map(($each) => ({ $push: { $each } })),
        listOf(text).map(($in) => ({ $pull: { $in } })),
        listOf(text).map((to) => ({ $set: to })),
      ),
      roleIds: someOf(text).map(($each) => ({ $addToSet: { $each } })),
      ratelimits: fc.oneof(
        someOf(item).map(($each) => ({ $push: { $each } })),
        fc.subarray(["r1", "r2", "r3"]).map(($in) => ({ $pull: { id: { $in } } })),
      ),
      meta: text.map((to) => ({ $setOnInsert: to })),
    },
    { requiredKeys: [] },
  )
  .filter((changes) => Object.keys(changes).length > 0)
  .map((changes) => {
    const byOperator: Record<string, Record<string, unknown>> = { $set: { v: 1 } };
    for (const [field, change] of Object.entries(changes))
      for (const [operator, operand] of Object.entries(change)) byOperator[operator] = { ...byOperator[operator], [field]: operand };
    return byOperator as Update<KeyDocument>;
  });

const sort = fc.constantFrom(
  { _id: 1 },
  { _id: -1 },
  { remaining: 1, _id: 1 },
  { name: -1, _id: 1 },
  { enabled: 1, _id: -1 },
) as fc.Arbitrary<Partial<Record<keyof KeyDocument, 1 | -1>>>;
const limit = fc.constantFrom(1, 2, 100);

const bulk: fc.Arbitrary<BulkOperation<KeyDocument>[]> = fc.array(
  fc.oneof(
    document.map((inserted) => ({ insertOne: { document: inserted } })),
    fc.tuple(filterOfOne, update).map(([of, change]) => ({ updateOne: { filter: of, update: change } })),
    filterOfOne.map((of) => ({ deleteOne: { filter: of } })),
  ),
  { maxLength: 4 },
);

const step = <T>(
  name: string,
  operands: fc.Arbitrary<T>,
  run: (keys: Collection<KeyDocument>, operands: T) => Promise<unknown>,
): fc.Arbitrary<Step> => operands.map((drawn) => ({ description: `${name} ${JSON.stringify(drawn)}`, run: (keys) => run(keys, drawn) }));

const counts = (result: unknown): unknown => {
  const { matchedCount, modifiedCount, upsertedCount, deletedCount } = result as Record<string, number>;
  return { matchedCount, modifiedCount, upsertedCount, deletedCount };
};
/** MongoDB upserts only what names its id, and never one that other conditions keep from matching. */
const upsertable = fc
  .tuple(id, fc.option(hash))
  .map(([_id, of]) => ({ _id, workspaceId: WORKSPACE_ID, ...(of && { hash: of }) }) as Filter<KeyDocument>);
const withoutHash = update.map(({ $set, $unset, ...rest }) => {
  const { hash: _, ...set } = { ...$set };
  const { hash: __, ...unset } = { ...$unset };
  return { ...rest, $set: set, ...(Object.keys(unset).length > 0 && { $unset: unset }) } as Update<KeyDocument>;
});
const returned = fc.constantFrom("before" as const, "after" as const);

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: step("insertOne", document, async (keys, inserted) => void (await keys.insertOne(inserted))) },
    step("insertMany", fc.array(document, { maxLength: 3 }), async (keys, many) => void (await keys.insertMany(many))),
    {
      weight: 3,
      arbitrary: step("updateOne", fc.tuple(filterOfOne, update), async (keys, [of, change]) => counts(await keys.updateOne(of, change))),
    },
    step("upsert", fc.tuple(upsertable, withoutHash), async (keys, [of, change]) =>
      counts(await keys.updateOne(of, change, { upsert: true })),
    ),
    step("findOneAndUpdate", fc.tuple(filterOfOne, update, returned), (keys, [of, change, returnDocument]) =>
      keys.findOneAndUpdate(of, change, { returnDocument }),
    ),
    step("findOneAndUpsert", fc.tuple(upsertable, withoutHash, returned), (keys, [of, change, returnDocument]) =>
      keys.findOneAndUpdate(of, change, { returnDocument, upsert: true }),
    ),
    step("deleteOne", filterOfOne, async (keys, of) => counts(await keys.deleteOne(of))),
    step("deleteMany", filter, async (keys, of) => counts(await keys.deleteMany(of))),
    step("bulkWrite", bulk, async (keys, operations) => (await keys.bulkWrite(operations)).matchedCount),
    {
      weight: 3,
      arbitrary: step("find", fc.tuple(filter, sort, limit), (keys, [of, by, most]) => keys.find(of, { sort: by, limit: most }).toArray()),
    },
    step("findFields", fc.tuple(fc.subarray(["remaining", "hash"] as const), filter, sort), (keys, [fields, of, by]) =>
      keys.findFields(fields, of, { sort: by }),
    ),
    step("findOne", fc.tuple(filter, sort), (keys, [of, by]) => keys.findOne(of, { sort: by })),
  ),
  { minLength: 5, maxLength: 25 },
);

/** Everything that running the program showed: each result, and what is stored in the end. */
export const observe = async (keys: Collection<KeyDocument>, program: readonly Step[]): Promise<unknown[]> => {
  await keys.deleteMany({});
  const seen: unknown[] = [];
  for (const { description, run } of program) {
    const outcome = await run(keys).catch((error: unknown) => {
      if (error instanceof DuplicateKeyError) return `duplicate in ${error.index}`;
      throw error;
    });
    seen.push({ description, outcome });
  }
  return [...seen, await keys.find({}, { sort: { _id: 1 } }).toArray()];
};
