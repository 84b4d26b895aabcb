import { type SearchKeysRequest, SearchKeysRequestSchema, type SearchKeysResponseSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type Caller, permits } from "../../../platform/authorization/authorization.ts";
import type { KeyDocument } from "../../../platform/storage/port/documents.ts";
import type { ApisRepository } from "../../apis/apisRepository.ts";
import type { Call, Procedure } from "../../calls/call.ts";
import { readPageRequest, showPagination } from "../../calls/paging.ts";
import type { IdentitiesRepository } from "../../identities/identitiesRepository.ts";
import type { SearchEntry } from "../keySearchRepository.ts";
import { withDueRefills } from "../refillCredits.ts";
import { type KeyObjectDeps, keyObjects } from "./shared/keyObject.ts";
import { readSearchCursor, type SearchPlace, writeSearchCursor } from "./shared/searchCursor.ts";
import { createSearchFilter, type SearchFilter, type SearchFilterDeps } from "./shared/searchFilter.ts";
import { createSearchWays, type SearchWay, type SearchWaysDeps } from "./shared/searchWays.ts";

/** Keys that one page looks at, at most, whether or not the filters leave them (management §2). */
const LOOKED_AT = 1_000;
/** Entries that are read at a time, at least, once a page has to look further into a way: filters, or earlier ways, left little. */
const FURTHER = 100;

export type SearchKeysDeps = SearchWaysDeps &
  SearchFilterDeps &
  KeyObjectDeps & {
    readonly apis: Pick<ApisRepository, "findLivingIds">;
    readonly identities: Pick<IdentitiesRepository, "findByExternalId">;
  };

/** The APIs whose keys the caller may find; undefined = all. */
const readableApis = ({ grants }: Caller): ReadonlySet<string> | undefined => {
  const [keys, apis] = [grants.scope("api.read_key"), grants.scope("api.read_api")];
  if (keys.all) return apis.all ? undefined : apis.ids;
  return apis.all ? keys.ids : keys.ids.intersection(apis.ids);
};

/** Those of them that live; of one API, if told. */
const findApiIds = async (apis: SearchKeysDeps["apis"], apiId: string | undefined, call: Call): Promise<readonly string[]> => {
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
  /** By ids, and all that the way finds; otherwise in the order of its index. */
  readonly byIds: boolean;
  /** The way may find more behind the last of them. */
  readonly more: boolean;
}

/**
 * What a way finds behind a place. An index of texts has its entries by text, and only those of one text by id. So a way that
 * finds no more than a page holds, which one read tells, is shown by ids; one that finds more is shown as its index has it, but
 * for what was shown already when it found less.
 */
const readBatch = async (way: SearchWay, place: SearchPlace | undefined, limit: number, isFirst: boolean): Promise<Batch> => {
  const after = place?.after;
  const most = (isFirst ? limit : Math.max(limit, FURTHER)) + 1;
  const entries = await way.read(after, most);
  if (way.byText && after === undefined && entries.length <= limit) {
    return { entries: entries.filter(({ id }) => id > (place?.shownTo ?? "")).sort(compareIds), byIds: true, more: false };
  }
  return { entries, byIds: false, more: entries.length === most };
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
    const shownTo = place?.shownTo ?? "";
    for (let more = true, isFirst = true; more; isFirst = false) {
      const batch = await readBatch(way, place, limit, isFirst);
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
          place = batch.byIds ? { way: number, shownTo: entry.id, after: undefined } : { way: number, shownTo, after: entry };
          lookedAt++;
          const key = entry.id > shownTo ? left.get(entry.id) : undefined;
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
 * empty page. What another caller's API holds changes nothing of the answer, but that the secret of any key is no beginning of
 * a name. The order is that of the ways; within one that of the ids where it finds no more than `limit` keys, else that of the
 * texts by which it finds them, and of the ids within one text. On the pages of one search with one limit each key that exists
 * throughout comes exactly once.
 */
export const searchKeys =
  (deps: SearchKeysDeps): Procedure<typeof SearchKeysRequestSchema, typeof SearchKeysResponseSchema> =>
  async (request, call) => {
    const { apiId, externalId } = request;
    const { limit, cursor } = readPageRequest(SearchKeysRequestSchema, request);
    const search = textOfSearch(request);
    const from = readSearchCursor(search, cursor);
    const nothing = { data: [], pagination: { hasMore: false } };

    const apiIds = await findApiIds(deps.apis, apiId, call);
    if (apiIds.length === 0) return nothing;
    const identity = externalId === undefined ? undefined : await deps.identities.findByExternalId(externalId, call);
    if (identity === null) return nothing;
    const matching = await createSearchFilter(deps, request, identity?._id, call);
    if (matching === undefined) return nothing;

    const ways = await createSearchWays(deps, request.query?.toWellFormed(), { apiIds, identityId: identity?._id }, call);
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
