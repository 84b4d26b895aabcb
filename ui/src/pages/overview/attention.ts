import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService, type SearchKeysRequestSchema, type SearchKeysResponse } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { type Answer, type CallOptions, call } from "../../data/calls/call.ts";

/** Keys that need attention. */
export interface Attention {
  /** The most urgent first. */
  readonly keys: readonly Key[];
  /** False: there are more keys than were looked at. */
  readonly complete: boolean;
}

/** Pages of a search that are read: a store with thousands of expired keys has them in front. */
const mostPages = 5;

/** Works at `now`, Unix ms: such a key can run out at all. */
export const isLive = ({ enabled, expires }: Key, now: number): boolean => enabled && (expires === undefined || Number(expires) > now);

/** Those that expire soonest in front. */
export const bySoonest = (one: Key, other: Key): number => Number((one.expires ?? 0n) - (other.expires ?? 0n));

/** Those with the fewest credits in front. */
export const byCredits = (one: Key, other: Key): number => Number((one.credits?.remaining ?? 0n) - (other.credits?.remaining ?? 0n));

/** Reads the keys that a search finds and that work at `now`. */
export const readAttention = async (
  request: MessageInitShape<typeof SearchKeysRequestSchema>,
  order: (one: Key, other: Key) => number,
  now: number,
  options: CallOptions,
): Promise<Answer<Attention>> => {
  const keys: Key[] = [];
  let cursor: string | undefined = "";
  for (let page = 0; page < mostPages && cursor !== undefined; page += 1) {
    const { message }: Answer<SearchKeysResponse> = await call(KeysService.method.searchKeys, { ...request, cursor }, options);
    keys.push(...message.data.filter((key) => isLive(key, now)));
    cursor = message.pagination?.hasMore === true ? message.pagination.cursor : undefined;
  }
  return { message: { keys: keys.sort(order), complete: cursor === undefined }, etag: undefined };
};
