import { setImmediate as nextTurn } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type CounterSchema,
  ListCountersRequestSchema,
  type ListCountersResponseSchema,
} from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import { readOwnPageRequest, showOwnPagination } from "../../calls/paging.ts";
import { type CountersFrom, type CountersPageDeps, type CurrentCounter, readCountersPage } from "../countersPage.ts";
import type { NamespaceCache } from "../namespaceCache.ts";
import type { NamespacesRepository } from "../namespacesRepository.ts";
import type { LiveOverride } from "../overridesRepository.ts";
import { findNamespace } from "./shared/findNamespace.ts";

export interface ListCountersDeps extends CountersPageDeps {
  readonly namespaces: NamespacesRepository;
  readonly namespaceCache: NamespaceCache;
}

/** A namespace may have thousands of patterns: so many identifiers are compared with them at once. */
const MATCHED_AT_ONCE = 10;

/** `1000:user`, in front of it the lengths of windows where they are not all. */
const textOf = ({ place, lengths: { after, until } }: CountersFrom): string => {
  const lengths = after === undefined && until === undefined ? "" : `${after ?? ""}-${until ?? ""}/`;
  return lengths + (place === undefined ? "" : `${place.duration}:${place.identifier}`);
};

const fromOf = (cursor: string): CountersFrom | undefined => {
  if (cursor === "") return undefined;
  const [lengths = "", after, until] = /^(\d*)-(\d*)\//.exec(cursor) ?? [];
  const numberOf = (text: string | undefined): number | undefined => (text ? Number(text) : undefined);
  const rest = cursor.slice(lengths.length);
  const end = rest.indexOf(":");
  return {
    place: rest === "" ? undefined : { identifier: rest.slice(end + 1), duration: Number(rest.slice(0, end)) },
    lengths: { after: numberOf(after), until: numberOf(until) },
  };
};

const showCounter = (
  { identifier, duration, current, previous, reset, held, used }: CurrentCounter,
  override: LiveOverride | undefined,
): MessageInitShape<typeof CounterSchema> => ({
  identifier,
  duration: BigInt(duration),
  current: BigInt(current),
  previous: BigInt(previous),
  reset: BigInt(reset),
  held: BigInt(held),
  // Of another duration it has a counter of its own.
  ...(override?.duration === duration
    ? { limit: BigInt(override.limit), remaining: BigInt(Math.max(0, override.limit - used)), override: override._id }
    : {}),
});

/**
 * Lists the counters of a namespace whose identifiers begin with a text, by identifier and duration (management §3, §8):
 * what is used in the present window and the one before, budget of all nodes included, and the limit where an override sets
 * it. Of more than a thousand lengths of windows the order is that of a thousand at a time. 404, then 403.
 */
export const listCounters =
  (deps: ListCountersDeps): Procedure<typeof ListCountersRequestSchema, typeof ListCountersResponseSchema> =>
  async ({ namespace, identifier = "", limit, cursor }, call) => {
    const { _id: namespaceId } = await findNamespace(deps, namespace, "ratelimit.read_namespace", call);
    const list = `ratelimit.listCounters ${namespaceId}`;
    const asked = readOwnPageRequest(list, ListCountersRequestSchema, { limit, cursor, search: identifier });
    const from = fromOf(asked.cursor);
    const { items, next } = await readCountersPage(deps, { namespaceId, prefix: identifier, from, limit: asked.limit }, call);
    const overrides = (await deps.namespaceCache.get(namespaceId, call)).value?.overrides;
    const data: MessageInitShape<typeof CounterSchema>[] = [];
    for (const item of items) {
      if (data.length % MATCHED_AT_ONCE === MATCHED_AT_ONCE - 1) await nextTurn();
      data.push(showCounter(item, overrides?.match(item.identifier)));
    }
    return { data, pagination: showOwnPagination(list, asked, { items, next: next && textOf(next) }) };
  };
