import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Key } from "../../../../gen/latchkey/v2/common_pb.ts";
import { UpdateKeyRequestSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { limitsText } from "../../data/drafts/limitDraft.ts";
import { refillText } from "../../data/drafts/refillDraft.ts";
import type { Change } from "../../design/values/Diff.tsx";
import { utcTime, zoneTime } from "../../design/values/formatTime.ts";

/** A time for a person: in the reader's zone, and in UTC. */
export const timeText = (time: bigint | undefined): string => (time === undefined ? "never" : `${zoneTime(time)} (${utcTime(time)})`);

/** A balance for a person. */
export const balanceText = (balance: bigint | undefined): string => (balance === undefined ? "unlimited" : balance.toLocaleString("en"));

const listText = (items: readonly string[]): string | undefined => (items.length === 0 ? undefined : items.join(", "));

const metaText = (meta: Key["meta"]): string | undefined =>
  meta === undefined || Object.keys(meta).length === 0 ? undefined : JSON.stringify(meta);

/** Applies a nullable wrapper of a request to the stored value: unset keeps it, null removes it. */
const after = <Value, Shown>(
  wrapper: { readonly kind: { readonly case: "null" | "value" | undefined; readonly value?: unknown } } | undefined,
  stored: Shown,
  none: Shown,
  shown: (value: Value) => Shown,
): Shown => {
  if (wrapper === undefined) return stored;
  return wrapper.kind.case === "value" ? shown(wrapper.kind.value as Value) : none;
};

/**
 * Before → after of an update, read from the very request that makes it, so that forms and suggestions are shown alike.
 * @param direct the key's own permissions; undefined when they are unknown
 */
export const keyChanges = (
  key: Key,
  direct: readonly string[] | undefined,
  init: MessageInitShape<typeof UpdateKeyRequestSchema>,
): readonly Change[] => {
  const request = create(UpdateKeyRequestSchema, init);
  const { credits } = request;
  const cleared = credits?.kind.case === "null";
  const inside = credits?.kind.case === "value" ? credits.kind.value : undefined;
  const remaining = key.credits?.remaining;
  const refill = key.credits?.refill === undefined ? undefined : refillText(key.credits.refill);
  const remainingAfter = cleared ? "unlimited" : after(inside?.remaining, balanceText(remaining), "unlimited", balanceText);
  const noRefill = cleared || inside?.remaining?.kind.case === "null";
  const limits = listText(key.ratelimits.length === 0 ? [] : [limitsText(key.ratelimits)]);
  const ownPermissions = direct === undefined ? undefined : listText(direct);
  return [
    { field: "name", before: key.name, after: after(request.name, key.name, undefined, (name: string) => name) },
    {
      field: "externalId",
      before: key.identity?.externalId,
      after: after(request.externalId, key.identity?.externalId, undefined, (externalId: string) => externalId),
    },
    { field: "meta", before: metaText(key.meta), after: after(request.meta, metaText(key.meta), undefined, metaText) },
    { field: "expires", before: timeText(key.expires), after: after(request.expires, timeText(key.expires), "never", timeText) },
    { field: "credits.remaining", before: balanceText(remaining), after: remainingAfter },
    { field: "credits.refill", before: refill, after: noRefill ? undefined : after(inside?.refill, refill, undefined, refillText) },
    {
      field: "ratelimits",
      before: limits,
      after: after(request.ratelimits, limits, undefined, (list: { values: Parameters<typeof limitsText>[0] }) =>
        list.values.length === 0 ? undefined : limitsText(list.values),
      ),
    },
    { field: "enabled", before: String(key.enabled), after: String(request.enabled ?? key.enabled) },
    { field: "roles", before: listText(key.roles), after: listText(request.roles?.values ?? key.roles) },
    {
      field: "permissions",
      before: ownPermissions,
      after: request.permissions === undefined ? ownPermissions : listText(request.permissions.values),
    },
  ].filter((change) => change.before !== change.after);
};
