import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { UpdateIdentityRequestSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { readJsonObject } from "../../data/readJson.ts";
import { type FieldChange, keep } from "../../design/forms/fieldChange.ts";
import { type LimitNumbers, limitText, readLimits, type TypedLimit } from "../../design/forms/typedLimit.ts";
import type { Change } from "../../design/values/Diff.tsx";

/** Meta and limits of an identity as a form has them: neither is nullable, `{}` and `[]` clear them. */
export interface IdentityDraft {
  readonly ratelimits: FieldChange<readonly TypedLimit[]>;
  /** JSON. */
  readonly meta: FieldChange<string>;
}

/** A draft that changes nothing. */
export const draftOf = (): IdentityDraft => ({ ratelimits: keep, meta: keep });

/** Limits in words. */
export const limitsText = (limits: readonly LimitNumbers[]): string => limits.map(limitText).join("; ") || "no limits";

/** Meta in one line. */
export const metaText = (meta: Identity["meta"]): string => (meta === undefined ? "no meta" : JSON.stringify(meta));

const limitsAfter = (identity: Identity, change: IdentityDraft["ratelimits"]): readonly LimitNumbers[] => {
  if (change.kind === "keep") return identity.ratelimits;
  return change.kind === "set" ? readLimits(change.value) : [];
};

const metaAfter = (identity: Identity, change: IdentityDraft["meta"]): string => {
  if (change.kind === "keep") return metaText(identity.meta);
  const meta = change.kind === "set" ? readJsonObject(change.value) : {};
  return meta === undefined || Object.keys(meta).length > 0 ? metaText(meta) : metaText(undefined);
};

/** Before → after of what the draft changes. */
export const changesOf = (identity: Identity, draft: IdentityDraft): readonly Change[] =>
  [
    { field: "ratelimits", before: limitsText(identity.ratelimits), after: limitsText(limitsAfter(identity, draft.ratelimits)) },
    { field: "meta", before: metaText(identity.meta), after: metaAfter(identity, draft.meta) },
  ].filter(({ before, after }) => before !== after);

/** The call that makes these changes, and no others. */
export const requestOf = (
  identity: Identity,
  { ratelimits, meta }: IdentityDraft,
): MessageInitShape<typeof UpdateIdentityRequestSchema> => ({
  identity: identity.id,
  ...(meta.kind === "keep" ? {} : { meta: (meta.kind === "set" ? readJsonObject(meta.value) : undefined) ?? {} }),
  ...(ratelimits.kind === "keep" ? {} : { ratelimits: { values: ratelimits.kind === "set" ? readLimits(ratelimits.value) : [] } }),
});

/** What keeps the draft from being saved. */
export const problemIn = ({ meta }: IdentityDraft): string | undefined =>
  meta.kind === "set" && readJsonObject(meta.value) === undefined ? "The meta is no JSON object." : undefined;
