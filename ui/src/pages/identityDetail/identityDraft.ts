import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import type { UpdateIdentityRequestSchema } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { type LimitDraft, limitsReadable, limitsText, readLimits } from "../../data/drafts/limitDraft.ts";
import { readJsonObject } from "../../data/readInput.ts";
import { type FieldChange, keep } from "../../design/forms/fieldChange.ts";
import type { Change } from "../../design/values/Diff.tsx";

/** Meta and limits of an identity as a form has them: neither is nullable, `{}` and `[]` clear them. */
export interface IdentityDraft {
  readonly ratelimits: FieldChange<readonly LimitDraft[]>;
  /** JSON. */
  readonly meta: FieldChange<string>;
}

/** A draft that changes nothing. */
export const draftOf = (): IdentityDraft => ({ ratelimits: keep, meta: keep });

/** Limits in words. */
export const sharedLimits = (limits: Parameters<typeof limitsText>[0]): string => limitsText(limits) || "no limits";

/** Meta in one line. */
export const metaText = (meta: Identity["meta"]): string => (meta === undefined ? "no meta" : JSON.stringify(meta));

/** An unreadable text is never saved: the form reports it. */
const objectOf = (text: string): JsonObject => {
  const value = readJsonObject(text);
  return value === undefined || value === "invalid" ? {} : value;
};

const limitsAfter = (identity: Identity, change: IdentityDraft["ratelimits"]): Parameters<typeof limitsText>[0] => {
  if (change.kind === "keep") return identity.ratelimits;
  return change.kind === "set" ? readLimits(change.value) : [];
};

const metaAfter = (identity: Identity, change: IdentityDraft["meta"]): string => {
  if (change.kind === "keep") return metaText(identity.meta);
  const meta = change.kind === "set" ? objectOf(change.value) : {};
  return metaText(Object.keys(meta).length > 0 ? meta : undefined);
};

/** Before → after of what the draft changes. */
export const changesOf = (identity: Identity, draft: IdentityDraft): readonly Change[] =>
  [
    { field: "ratelimits", before: sharedLimits(identity.ratelimits), after: sharedLimits(limitsAfter(identity, draft.ratelimits)) },
    { field: "meta", before: metaText(identity.meta), after: metaAfter(identity, draft.meta) },
  ].filter(({ before, after }) => before !== after);

/** The call that makes these changes, and no others. */
export const requestOf = (
  identity: Identity,
  { ratelimits, meta }: IdentityDraft,
): MessageInitShape<typeof UpdateIdentityRequestSchema> => ({
  identity: identity.id,
  ...(meta.kind === "keep" ? {} : { meta: meta.kind === "set" ? objectOf(meta.value) : {} }),
  ...(ratelimits.kind === "keep" ? {} : { ratelimits: { values: ratelimits.kind === "set" ? readLimits(ratelimits.value) : [] } }),
});

/** The problem that prevents the draft from being saved. */
export const problemIn = ({ ratelimits, meta }: IdentityDraft): string | undefined => {
  if (ratelimits.kind === "set" && !limitsReadable(ratelimits.value)) return "A number of a limit is not valid.";
  return meta.kind === "set" && typeof readJsonObject(meta.value) !== "object" ? "Meta must be a JSON object." : undefined;
};
