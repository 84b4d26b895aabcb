import type { MessageInitShape } from "@bufbuild/protobuf";
import type { UpdateKeyRequestSchema } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { expiryProblem } from "../../data/drafts/expiryDraft.ts";
import { type LimitDraft, limitsReadable, readLimits } from "../../data/drafts/limitDraft.ts";
import { type RefillDraft, readRefill } from "../../data/drafts/refillDraft.ts";
import { readInteger, readJsonObject, readList, readLocalTime } from "../../data/readInput.ts";
import { type FieldChange, keep, nullable } from "../../design/forms/fieldChange.ts";

/** The fields of a key as a form has them: what it does to each, and the new value as it is typed. */
export interface KeyDraft {
  readonly name: FieldChange<string>;
  readonly externalId: FieldChange<string>;
  /** JSON. */
  readonly meta: FieldChange<string>;
  /** Value of a `datetime-local` input. */
  readonly expires: FieldChange<string>;
  readonly remaining: FieldChange<string>;
  readonly refill: FieldChange<RefillDraft>;
  readonly ratelimits: FieldChange<readonly LimitDraft[]>;
  /** Names, one a line. */
  readonly roles: FieldChange<string>;
  /** The key's own, one a line. */
  readonly permissions: FieldChange<string>;
}

/** A draft that changes nothing. */
export const untouched: KeyDraft = {
  name: keep,
  externalId: keep,
  meta: keep,
  expires: keep,
  remaining: keep,
  refill: keep,
  ratelimits: keep,
  roles: keep,
  permissions: keep,
};

/** Whether the draft leaves every field. */
export const isUntouched = (draft: KeyDraft): boolean => Object.values(draft).every(({ kind }: FieldChange<unknown>) => kind === "keep");

/** JSON names of the form's fields. */
export const keyFields = [
  "name",
  "externalId",
  "meta",
  "expires",
  "credits.remaining",
  "credits.refill.interval",
  "credits.refill.amount",
  "credits.refill.refillDay",
  "ratelimits",
  "roles",
  "permissions",
];

/** Says what cannot be saved as it is typed, by field. @param now Unix ms */
export const unreadable = (draft: KeyDraft, now: number): Partial<Record<"meta" | "expires" | "remaining" | "ratelimits", string>> => {
  const { meta, expires, remaining, ratelimits } = draft;
  const expiry = expires.kind === "set" ? expiryProblem(expires.value, now) : undefined;
  return {
    ...(meta.kind === "set" && typeof readJsonObject(meta.value) !== "object" ? { meta: "Meta must be a JSON object, such as {}." } : {}),
    ...(expiry === undefined ? {} : { expires: expiry }),
    ...(remaining.kind === "set" && typeof readInteger(remaining.value) !== "bigint"
      ? { remaining: "Credits must be a whole number." }
      : {}),
    ...(ratelimits.kind === "set" && !limitsReadable(ratelimits.value) ? { ratelimits: "A number of a rate limit is not valid." } : {}),
  };
};

const mapped = <Value, Read>(change: FieldChange<Value>, read: (value: Value) => Read): FieldChange<Read> =>
  change.kind === "set" ? { kind: "set", value: read(change.value) } : change;

/** A part of a request: nothing when the field is kept. */
const part = <Name extends string, Value>(name: Name, value: Value | undefined): Partial<Record<Name, Value>> =>
  value === undefined ? {} : ({ [name]: value } as Record<Name, Value>);

const creditsOf = ({ remaining, refill }: KeyDraft) => {
  // No limit and no refill in one: the service refuses a refill without a balance.
  if (remaining.kind === "clear") return nullable<never>({ kind: "clear" });
  if (remaining.kind === "keep" && refill.kind === "keep") return undefined;
  const number = (text: string): bigint => {
    const value = readInteger(text);
    return typeof value === "bigint" ? value : 0n;
  };
  return nullable({
    kind: "set" as const,
    value: { ...part("remaining", nullable(mapped(remaining, number))), ...part("refill", nullable(mapped(refill, readRefill))) },
  });
};

const listOf = (change: FieldChange<string>): { values: string[] } | undefined => {
  if (change.kind === "keep") return undefined;
  return { values: change.kind === "set" ? readList(change.value) : [] };
};

const object = (text: string) => {
  const value = readJsonObject(text);
  return typeof value === "object" ? value : {};
};

/** The call that makes these changes, and no others: what is kept is left out. */
export const requestOf = (keyId: string, draft: KeyDraft): MessageInitShape<typeof UpdateKeyRequestSchema> => ({
  keyId,
  ...part("name", nullable(draft.name)),
  ...part("externalId", nullable(draft.externalId)),
  ...part("meta", nullable(mapped(draft.meta, object))),
  ...part("expires", nullable(mapped(draft.expires, (text) => readLocalTime(text) ?? 0n))),
  ...part("credits", creditsOf(draft)),
  ...part("ratelimits", nullable(mapped(draft.ratelimits, (drafts) => ({ values: readLimits(drafts) })))),
  ...part("roles", listOf(draft.roles)),
  ...part("permissions", listOf(draft.permissions)),
});
