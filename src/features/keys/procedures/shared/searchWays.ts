import pMap from "p-map";
import { isId } from "../../../../platform/base/ids.ts";
import { hashKey, looksLikeKeySecret } from "../../../../platform/secrets/keySecret.ts";
import { looksLikeRootKey } from "../../../../platform/secrets/rootKeySecret.ts";
import type { OperationOptions } from "../../../../platform/storage/port/collection.ts";
import type { KeyDocument } from "../../../../platform/storage/port/documents.ts";
import { chunks } from "../../../../platform/util/chunks.ts";
import { foldCase } from "../../../../platform/util/foldCase.ts";
import { foreignHashOf } from "../../../verification/migrateOnUse.ts";
import { type KeySearchRepository, nameKeyOf, type SearchEntry, type SearchedText } from "../../keySearchRepository.ts";
import type { KeysRepository } from "../../keysRepository.ts";

/** A way of finding keys (management §2). */
export interface SearchWay {
  /** What it finds behind `after`, ascending by text and id, in all APIs of the search together. */
  readonly read: (after: SearchEntry | undefined, limit: number) => Promise<readonly SearchEntry[]>;
  /** Whether it finds this key: what a later way finds as well is shown once, here. */
  readonly finds: (key: KeyDocument) => boolean | Promise<boolean>;
  /** Its texts differ: what is found goes by them, and by the ids only within one. */
  readonly byText: boolean;
}

export interface SearchWaysDeps {
  readonly keys: Pick<KeysRepository, "find" | "findByHash" | "findTakenHashes">;
  readonly keySearch: KeySearchRepository;
}

/** APIs that are read at a time: more would keep the store's connections from other calls. */
const PARALLEL = 16;
/** Identities that an externalId leads through at most (management §2). */
const MOST_IDENTITIES = 1_000;
/** Pairs of an identity and an API that one query looks for. */
const PAIRS_AT_ONCE = 500;
/** APIs whose entries are held at a time. */
const APIS_AT_ONCE = 64;

const SURROGATE = /[\ud800-\udfff]/;
/** Engines order texts by their UTF-8 bytes, which is the order of UTF-16 wherever there are no surrogates. */
const compareText = (a: string, b: string): number => {
  if (a === b) return 0;
  return SURROGATE.test(a) || SURROGATE.test(b) ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : a < b ? -1 : 1;
};
const compareEntries = (a: SearchEntry, b: SearchEntry): number => compareText(a.text, b.text) || compareText(a.id, b.id);

/** What stands between a secret and other words. */
const AROUND = /[\s"'`\u2018-\u201f«»=:,;()<>[\]{}]+/;

/** Finds nothing, and asks nobody. */
const noWay: SearchWay = { read: () => Promise.resolve([]), finds: () => false, byText: false };

/**
 * Whether a text is, or holds, a secret that somebody may still use: that of a root key, or of any key, be it of an API that the
 * caller may not see, deleted, or waiting for its migration. It is asked by hashes alone.
 */
const isSecret = async (keys: SearchWaysDeps["keys"], query: string, options: OperationOptions): Promise<boolean> => {
  // People paste with what stands around it: white space, quotes, `Bearer`, the name of a variable.
  const texts = new Set([query, query.trim(), ...query.split(AROUND)]);
  const hashes = new Set<string>();
  for (const text of texts) {
    if (looksLikeRootKey(text)) return true;
    const foreign = foreignHashOf(text);
    hashes.add(hashKey(text));
    if (foreign !== undefined) hashes.add(foreign);
  }
  return (await keys.findTakenHashes([...hashes], options)).size > 0;
};

/**
 * The ways of a search in these APIs, in their order; without a query the only way is all there is. A query that is a secret
 * reaches the store as its hash only, since a store may log what it is asked: then there is no other way.
 */
export const createSearchWays = async (
  { keys, keySearch }: SearchWaysDeps,
  query: string | undefined,
  { apiIds, identityId }: { readonly apiIds: readonly string[]; readonly identityId: string | undefined },
  options: OperationOptions,
): Promise<readonly SearchWay[]> => {
  const readable = new Set(apiIds);

  /** The first `limit` of all APIs: each gives its own first so many. */
  const inEveryApi = async (limit: number, read: (apiId: string) => Promise<readonly SearchEntry[]>): Promise<readonly SearchEntry[]> => {
    const [only] = apiIds;
    if (only !== undefined && apiIds.length === 1) return read(only);
    let first: readonly SearchEntry[] = [];
    for (const some of chunks(apiIds, APIS_AT_ONCE)) {
      const entries = await pMap(some, read, { concurrency: PARALLEL });
      first = [...first, ...entries.flat()].sort(compareEntries).slice(0, limit);
    }
    return first;
  };

  const ofOwner = (owner: string | undefined, after: string | undefined, limit: number): Promise<readonly SearchEntry[]> =>
    inEveryApi(limit, (apiId) =>
      keySearch.findOfApi({ apiId, ...(owner === undefined ? {} : { identityId: owner }) }, after, limit, options),
    );

  if (query === undefined) {
    return [{ read: (after, limit) => ofOwner(identityId, after?.id, limit), finds: () => true, byText: false }];
  }

  /** One key at most, which an index finds by itself. */
  const single = (find: () => Promise<KeyDocument | null>, finds: SearchWay["finds"]): SearchWay => ({
    read: async (after) => {
      const key = after === undefined ? await find() : null;
      return key !== null && readable.has(key.apiId) && (await finds(key)) ? [{ text: "", id: key._id }] : [];
    },
    finds,
    byText: false,
  });

  const beginning = (field: SearchedText, prefix: string, finds: SearchWay["finds"]): SearchWay => ({
    read: (after, limit) => inEveryApi(limit, (apiId) => keySearch.findByText({ apiId, field, prefix }, after, limit, options)),
    finds,
    byText: true,
  });

  const secretHash = hashKey(query);
  const bySecret = single(
    () => keys.findByHash(secretHash, options),
    // What waits for its migration has the hash of another system, which says nothing about the secret.
    (key) => key.hash === secretHash && key.pendingMigrationId === undefined,
  );
  if (await isSecret(keys, query, options)) return [noWay, bySecret];

  const folded = foldCase(query);

  let found: Promise<readonly string[]> | undefined;
  /** Ascending; read once, and only if a page comes so far. */
  const identitiesFound = (): Promise<readonly string[]> => {
    // No externalId has other characters, and none is longer.
    const possible = /^[a-zA-Z0-9_.-]{1,255}$/.test(query);
    found ??= possible ? keySearch.findIdentities(query, MOST_IDENTITIES, options).then((ids) => ids.sort()) : Promise.resolve([]);
    return found;
  };

  /** Keys of the identities, one identity after the other: all of them at once where they have few. */
  const ofIdentities = async (identityIds: readonly string[], limit: number): Promise<readonly SearchEntry[]> => {
    const [first] = identityIds;
    if (first === undefined || limit <= 0) return [];
    const isOne = identityIds.length === 1;
    if (isOne || identityIds.length * apiIds.length <= PAIRS_AT_ONCE) {
      const all: SearchEntry[] = [];
      for (const some of chunks(apiIds, PAIRS_AT_ONCE)) {
        all.push(...(await keySearch.findOfIdentities({ apiIds: some, identityIds }, limit, options)));
        if (all.length >= limit) break;
      }
      if (all.length < limit) return all.sort(compareEntries);
    }
    if (isOne) return ofOwner(first, undefined, limit);
    const half = Math.ceil(identityIds.length / 2);
    const left = await ofIdentities(identityIds.slice(0, half), limit);
    return [...left, ...(await ofIdentities(identityIds.slice(half), limit - left.length))];
  };

  const byExternalId: SearchWay = {
    read: async (after, limit) => {
      const identityIds = await identitiesFound();
      if (after === undefined) return ofIdentities(identityIds, limit);
      const same = identityIds.includes(after.text) ? await ofOwner(after.text, after.id, limit) : [];
      const rest = identityIds.filter((id) => id > after.text);
      return [...same, ...(await ofIdentities(rest, limit - same.length))];
    },
    finds: async (key) => key.identityId !== undefined && (await identitiesFound()).includes(key.identityId),
    byText: true,
  };

  const byLastFour: SearchWay = {
    read: (after, limit) =>
      [...query].length === 4
        ? inEveryApi(limit, (apiId) => keySearch.findByLastFour({ apiId, lastFour: query }, after?.id, limit, options))
        : Promise.resolve([]),
    finds: (key) => key.lastFour === query,
    byText: false,
  };

  const byId = single(
    () => keys.find(query, options),
    (key) => key._id === query,
  );

  return [
    isId("key", query) ? byId : noWay,
    // No key has this secret: `isSecret` has looked.
    noWay,
    // No start is as long as a secret. Names and externalIds may be.
    looksLikeKeySecret(query) ? noWay : beginning("start", query, ({ start }) => start.startsWith(query)),
    // The index has the first characters of a name only, and no name of an earlier version until the backfill has come by.
    beginning("nameKey", nameKeyOf(query), ({ name, nameKey }) => nameKey !== undefined && foldCase(name ?? "").startsWith(folded)),
    byExternalId,
    byLastFour,
  ];
};
