import type { SearchKeysRequest, SearchKeysRequestSchema, SearchKeysResponseSchema } from "../../../gen/latchkey/v2/keys_pb.ts";
import { type Caller, permits } from "../../domain/authorization.ts";
import type { ApisRepository } from "../../storage/apis.ts";
import type { KeyDocument } from "../../storage/documents.ts";
import type { SearchEntry } from "../../storage/keySearch.ts";
import { withDueRefills } from "../../verification/refillCredits.ts";
import type { Call, Procedure } from "../call.ts";
import { readPageRequest, showPagination } from "../paging.ts";
import { type KeyObjectDeps, keyObjects } from "./keyObject.ts";
import { readSearchCursor, type SearchPlace, writeSearchCursor } from "./searchCursor.ts";
import { createSearchFilter, type SearchFilter } from "./searchFilter.ts";
import { createSearchWays, type SearchWay, type SearchWaysDeps } from "./searchWays.ts";

/** Keys that one page looks at, at most, whether or not the filters leave them (management §2). */
const LOOKED_AT = 1_000;
/** What a way finds goes by the ids if it is no more than this: the entries of one full page. An index has it by its texts. */
const FEW = 100;
/** What was few when its first page was read may have become so many by the next. */
const GROWN = 1_000;

export type SearchKeysDeps = SearchWaysDeps & KeyObjectDeps & { readonly apis: ApisRepository };

/** The APIs whose keys the caller may find; undefined = all. */
const readableApis = ({ grants }: Caller): ReadonlySet<string> | undefined => {
  const [keys, apis] = [grants.scope("api.read_key"), grants.scope("api.read_api")];
  if (keys.all) return apis.all ? undefined : apis.ids;
  return apis.all ? keys.ids : keys.ids.intersection(apis.ids);
};

/** Those of them that live; of one API, if told. */
const findApiIds = async (apis: ApisRepository, apiId: string | undefined, call: Call): Promise<readonly string[]> => {
  const readable = readableApis(call.caller);
  if (apiId === undefined) return apis.findLivingIds(readable && [...readable], call);
  return readable === undefined || readable.has(apiId) ? apis.findLivingIds([apiId], call) : [];
};

/** All that tells one search from another. */
const textOfSearch = (request: SearchKeysRequest): string => {
  const { query, apiId, externalId, enabled, expiresBefore, role, permission, creditsBelow, unusedSince } = request;
  const integers = [expiresBefore, creditsBelow, unusedSince].map((value) => (value === undefined ? null : Number(value)));
  return JSON.stringify([query, apiId, externalId, enabled, role, permission, integers]);
};

const compareIds = ({ id: a }: SearchEntry, { id: b }: SearchEntry): number => (a < b ? -1 : Number(a > b));

interface Batch {
  readonly entries: readonly SearchEntry[];
  readonly few: boolean;
  /** The way may find more behind the last of them. */
  readonly more: boolean;
}

const readBatch = async (way: SearchWay, place: SearchPlace | undefined, limit: number): Promise<Batch> => {
  if (way.byText && (place === undefined || place.few)) {
    const most = place === undefined ? FEW + 1 : GROWN;
    const entries = await way.read(undefined, most);
    const { id = "" } = place ?? {};
    if (place !== undefined || entries.length < most) {
      return { entries: entries.filter((entry) => entry.id > id).sort(compareIds), few: true, more: false };
    }
    return { entries: entries.slice(0, limit), few: false, more: true };
  }
  const entries = await way.read(place, limit);
  return { entries, few: false, more: entries.length === limit };
};

interface Found {
  readonly keys: readonly KeyDocument[];
  /** Behind which the next page begins; undefined when this is the last one. */
  readonly next: SearchPlace | undefined;
}

/** Goes through the ways from a place on, until the page is full or has looked at as many keys as it may. */
const findPage = async (
  { keySearch }: SearchWaysDeps,
  ways: readonly SearchWay[],
  matching: SearchFilter,
  from: SearchPlace | undefined,
  limit: number,
  call: Call,
): Promise<Found> => {
  const keys: KeyDocument[] = [];
  let lookedAt = 0;
  let shown: SearchPlace | undefined;
  for (let number = from?.way ?? 0; number < ways.length; number++) {
    const way = ways[number] as SearchWay;
    let place = from?.way === number ? from : undefined;
    for (let more = true; more; ) {
      // Small pages whose filters leave nothing would else ask the store hundreds of times.
      const batch = await readBatch(way, place, lookedAt === 0 ? limit + 1 : Math.max(limit, FEW) + 1);
      const entries = batch.entries.slice(0, LOOKED_AT - lookedAt);
      more = batch.more;
      for (let i = 0; i < entries.length; i += limit + 1) {
        const part = entries.slice(i, i + limit + 1);
        const read = await keySearch.findMany(
          part.map(({ id }) => id),
          call,
        );
        const left = new Map((await matching(read)).map((key) => [key._id, key]));
        for (const entry of part) {
          place = { way: number, few: batch.few, text: batch.few ? "" : entry.text, id: entry.id };
          lookedAt++;
          const key = left.get(entry.id);
          if (key === undefined || !(await isFirstFoundBy(ways, number, key))) continue;
          if (keys.length === limit) return { keys, next: shown };
          keys.push(key);
          shown = place;
        }
      }
      const leftOut = entries.length < batch.entries.length;
      if (lookedAt >= LOOKED_AT && (leftOut || more || number < ways.length - 1)) return { keys, next: place };
    }
  }
  return { keys, next: undefined };
};

const isFirstFoundBy = async (ways: readonly SearchWay[], number: number, key: KeyDocument): Promise<boolean> => {
  // The key may have changed since its entry was read.
  if (!(await ways[number]?.finds(key))) return false;
  for (const earlier of ways.slice(0, number)) if (await earlier.finds(key)) return false;
  return true;
};

/**
 * Finds keys by a text, or lists them by filters (management §2), in the APIs whose keys the caller may read; in none, an
 * empty page. What another caller's API holds changes nothing of the answer.
 */
export const searchKeys =
  (deps: SearchKeysDeps): Procedure<typeof SearchKeysRequestSchema, typeof SearchKeysResponseSchema> =>
  async (request, call) => {
    const { apiId, externalId } = request;
    const { limit, cursor } = readPageRequest(request);
    const search = textOfSearch(request);
    const from = readSearchCursor(search, cursor);
    const nothing = { data: [], pagination: { hasMore: false } };

    const apiIds = await findApiIds(deps.apis, apiId, call);
    if (apiIds.length === 0) return nothing;
    const identity = externalId === undefined ? undefined : await deps.identities.findByExternalId(externalId, call);
    if (identity === null) return nothing;
    const matching = await createSearchFilter(deps, request, identity?._id, call);
    if (matching === undefined) return nothing;

    const ways = createSearchWays(deps, request.query?.toWellFormed(), { apiIds, identityId: identity?._id }, call);
    const { keys, next } = await findPage(deps, ways, matching, from, limit, call);
    for (const { apiId: id } of keys) for (const action of ["api.read_key", "api.read_api"] as const) permits(call.caller, action, id);
    const items = await keyObjects(
      deps,
      keys.map((key) => withDueRefills(key, call.receivedAt)),
      call,
    );
    return {
      data: items.map((item, i) => ({ ...item, apiId: keys[i]?.apiId ?? "" })),
      pagination: showPagination({ items: [], next: next && writeSearchCursor(search, next) }),
    };
  };
