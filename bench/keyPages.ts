import { createId } from "../src/platform/base/ids.ts";
import { createKeySecret } from "../src/platform/secrets/keySecret.ts";
import { keyOf, type Population } from "./population.ts";

const PAGE = 100;

/** A page that is asked for again and again, each time another one of its kind. */
export interface KeyPage {
  readonly what: string;
  /** How many keys it has to show, however many there are. */
  readonly keys: number;
  readonly ask: (round: number) => Promise<readonly unknown[]>;
}

type Call = <T>(procedure: string, body: object) => Promise<T>;

/** Pages of `apis.listKeys` and `keys.searchKeys` that are as full beside ten thousand keys as beside ten million. */
export const keyPages = (call: Call, { apiId, keyIds, keys, holders }: Population): readonly KeyPage[] => {
  const keyAt = (share: number): string => keyIds[Math.min(keyIds.length - 1, Math.floor(keyIds.length * share))] ?? "";
  const spread = (round: number): number => (round * 0.618) % 1;
  const list = (what: string, body: (round: number) => object): KeyPage => ({
    what: `apis.listKeys, ${what}`,
    keys: PAGE,
    ask: (round) => call("apis.listKeys", { apiId, limit: PAGE, ...body(round) }),
  });
  const search = (what: string, shown: number, body: (round: number) => object): KeyPage => ({
    what: `keys.searchKeys, ${what}`,
    keys: shown,
    ask: (round) => call("keys.searchKeys", { limit: PAGE, ...body(round) }),
  });
  const holder = (round: number): string => `bench_user_${Math.floor(holders / 2) + (round % Math.floor(holders / 2))}`;
  const future = 4_000_000_000_000;

  return [
    // What takes as long everywhere, if the machine has nothing else to do.
    { what: "keys.getKey", keys: 1, ask: async (round) => [await call("keys.getKey", { keyId: keyAt(spread(round)) })] },
    { what: "keys.createKey", keys: 1, ask: async () => [await call("keys.createKey", { apiId, permissions: ["bench.p0"] })] },
    list("from the start", () => ({})),
    list("from the middle", (round) => ({ cursor: keyAt(0.5 + spread(round) / 10) })),
    list("near the end", (round) => ({ cursor: keyAt(0.9 + spread(round) / 20) })),
    list("of one identity", (round) => ({ externalId: holder(round) })),
    search("by id", 1, (round) => ({ query: keyAt(spread(round)) })),
    search("by secret", 1, (round) => ({ query: keyOf(Math.floor(spread(round) * keys)) })),
    search("by the beginning of start", PAGE, (round) => ({ query: ["b", "bench", "bench_", "bench_0000"][round % 4] })),
    search("by the beginning of a name", PAGE, (round) => ({ query: `KEY ${1 + (round % 9)}` })),
    search("by a name", 1, (round) => ({ query: `key ${keys - 1 - (round % 100)}` })),
    search("by externalId", PAGE, (round) => ({ query: holder(round) })),
    search("by the beginning of an externalId", PAGE, (round) => ({ query: `bench_user_${1 + (round % 4)}` })),
    search("by the last four characters", PAGE, (round) => ({ query: `00${10 + (round % 90)}` })),
    search("a text that finds nothing", 0, (round) => ({ query: `nowhere ${round}` })),
    search("an id that finds nothing", 0, (round) => ({ query: createId("key", round) })),
    search("a secret that finds nothing", 0, () => ({ query: createKeySecret({ byteLength: 16, prefix: "none" }).key.reveal() })),
    search("all keys", PAGE, () => ({})),
    search("filter apiId", PAGE, () => ({ apiId })),
    search("filter externalId", PAGE, (round) => ({ externalId: holder(round) })),
    search("filter enabled", PAGE, () => ({ enabled: true })),
    search("filter role", PAGE, () => ({ role: "bench_r0" })),
    search("filter permission", PAGE, () => ({ permission: "bench.p0" })),
    search("filter unusedSince", PAGE, () => ({ unusedSince: future })),
    search("filter expiresBefore, no hit among the 1,000", 0, () => ({ expiresBefore: future })),
    search("filter creditsBelow, no hit among the 1,000", 0, () => ({ creditsBelow: 5 })),
    search("a name's beginning and a filter, no hit among the 1,000", 0, (round) => ({ query: `key ${1 + (round % 9)}`, enabled: false })),
  ];
};
