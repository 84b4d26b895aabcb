import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RatelimitConfig, RatelimitSchema } from "../../../gen/latchkey/v2/common_pb.ts";
import { createId } from "../../platform/base/ids.ts";
import type { StoredRatelimit } from "../../platform/storage/port/documents.ts";

/** The limits of keys and identities, from requests to the store and from there to responses. */

/** A name that stays keeps its id; of a repeated name the last item wins. */
export const storeRatelimits = (
  items: readonly RatelimitConfig[],
  current: readonly StoredRatelimit[],
  now: number,
): readonly StoredRatelimit[] => {
  const ids = new Map(current.map(({ name, id }) => [name, id]));
  const byName = new Map<string, StoredRatelimit>();
  for (const { name, limit, duration, autoApply } of items) {
    const id = ids.get(name) ?? byName.get(name)?.id ?? createId("rl", now);
    byName.set(name, { id, name, limit: Number(limit), duration: Number(duration), autoApply });
  }
  return [...byName.values()];
};

/** As responses show them. */
export const showRatelimits = (ratelimits: readonly StoredRatelimit[]): MessageInitShape<typeof RatelimitSchema>[] =>
  ratelimits.map(({ id, name, limit, duration, autoApply }) => ({ id, name, limit: BigInt(limit), duration: BigInt(duration), autoApply }));
