import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RootKey, RootKeysServiceUpdateKeyRequestSchema } from "../../../../gen/latchkey/v2/root_keys_pb.ts";
import { readLocalTime } from "../../data/readInput.ts";
import { type FieldChange, keep, nullable } from "../../design/forms/fieldChange.ts";
import type { Change } from "../../design/values/Diff.tsx";
import { utcTime } from "../../design/values/formatTime.ts";
import { expiryOf, nameOf } from "./rootKeyText.ts";

/** A root key as its form has it. */
export interface RootKeyDraft {
  readonly name: FieldChange<string>;
  /** As a `datetime-local` input has it. */
  readonly expires: FieldChange<string>;
  readonly enabled: boolean;
  /** Sorted triples. */
  readonly permissions: readonly string[];
}

type UpdateRequest = MessageInitShape<typeof RootKeysServiceUpdateKeyRequestSchema>;

/** Shown instead of a missing name. */
export const noName = "no name";

const noEnd = "never expires";

/** A draft that changes nothing. */
export const draftOf = ({ enabled, permissions }: RootKey): RootKeyDraft => ({
  name: keep,
  expires: keep,
  enabled,
  permissions: [...permissions].sort(),
});

/** When it expires, in words. */
export const expiryText = (rootKey: RootKey): string => {
  const expires = expiryOf(rootKey);
  return expires === undefined ? noEnd : utcTime(expires);
};

const expiryAfter = (rootKey: RootKey, change: FieldChange<string>): string => {
  if (change.kind === "keep") return expiryText(rootKey);
  if (change.kind === "clear") return noEnd;
  const at = readLocalTime(change.value);
  return at === undefined ? "no time" : utcTime(at);
};

const nameAfter = (rootKey: RootKey, change: FieldChange<string>): string => {
  if (change.kind === "keep") return nameOf(rootKey) ?? noName;
  return change.kind === "clear" ? noName : change.value;
};

/** Removed and added permissions in one line: `api.*.read_key` was removed, `api.api_1.read_key` was added. */
const permissionChanges = (before: readonly string[], after: readonly string[]): readonly Change[] => [
  ...before.filter((triple) => !after.includes(triple)).map((triple) => ({ field: "permissions", before: triple, after: undefined })),
  ...after.filter((triple) => !before.includes(triple)).map((triple) => ({ field: "permissions", before: undefined, after: triple })),
];

/** Before → after of what the draft changes; of permissions those that come and go. */
export const changesOf = (rootKey: RootKey, draft: RootKeyDraft): readonly Change[] => [
  ...[
    { field: "name", before: nameOf(rootKey) ?? noName, after: nameAfter(rootKey, draft.name) },
    { field: "expires", before: expiryText(rootKey), after: expiryAfter(rootKey, draft.expires) },
    { field: "enabled", before: String(rootKey.enabled), after: String(draft.enabled) },
  ].filter(({ before, after }) => before !== after),
  ...permissionChanges(rootKey.permissions, draft.permissions),
];

const timeChange = (change: FieldChange<string>): FieldChange<bigint> => {
  if (change.kind !== "set") return change;
  const at = readLocalTime(change.value);
  return at === undefined ? keep : { kind: "set", value: at };
};

/** The call that makes these changes, and no others. */
export const requestOf = (rootKey: RootKey, draft: RootKeyDraft): UpdateRequest => {
  const name = nullable(draft.name);
  const expires = nullable(timeChange(draft.expires));
  return {
    keyId: rootKey.keyId,
    ...(name === undefined ? {} : { name }),
    ...(expires === undefined ? {} : { expires }),
    ...(draft.enabled === rootKey.enabled ? {} : { enabled: draft.enabled }),
    ...(permissionChanges(rootKey.permissions, draft.permissions).length === 0 ? {} : { permissions: { values: [...draft.permissions] } }),
  };
};

/** Whether a root key is unchanged; its use is no change. */
export const isSame = (one: RootKey, other: RootKey): boolean =>
  nameOf(one) === nameOf(other) && changesOf(one, draftOf(other)).length === 0 && expiryOf(one) === expiryOf(other);
