import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Api, UpdateApiRequestSchema } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { readList } from "../../data/readInput.ts";
import { type FieldChange, keep, nullable } from "../../design/forms/fieldChange.ts";
import type { Change } from "../../design/values/Diff.tsx";

/** The settings as a form has them. */
export interface SettingsDraft {
  readonly name: string;
  readonly deleteProtection: boolean;
  /** Addresses, one a line. */
  readonly ipAllowlist: FieldChange<string>;
}

/** The words for an API without a list. */
export const anyAddress = "every address";

/** A draft that changes nothing. */
export const draftOf = ({ name, deleteProtection }: Api): SettingsDraft => ({ name, deleteProtection, ipAllowlist: keep });

const listText = (addresses: readonly string[]): string => (addresses.length === 0 ? anyAddress : addresses.join(", "));

const listAfter = (api: Api, change: FieldChange<string>): string => {
  if (change.kind === "keep") return listText(api.ipAllowlist);
  // The service refuses an empty list, at the field.
  return change.kind === "clear" ? anyAddress : readList(change.value).join(", ") || "no address";
};

/** Before → after of what the draft changes. */
export const changesOf = (api: Api, draft: SettingsDraft): readonly Change[] =>
  [
    { field: "name", before: api.name, after: draft.name },
    { field: "deleteProtection", before: String(api.deleteProtection), after: String(draft.deleteProtection) },
    { field: "ipAllowlist", before: listText(api.ipAllowlist), after: listAfter(api, draft.ipAllowlist) },
  ].filter(({ before, after }) => before !== after);

/** The call that makes these changes, and no others: what is as it was is left out. */
export const requestOf = (api: Api, draft: SettingsDraft): MessageInitShape<typeof UpdateApiRequestSchema> => {
  const { ipAllowlist } = draft;
  const change = ipAllowlist.kind === "set" ? { ...ipAllowlist, value: { values: readList(ipAllowlist.value) } } : ipAllowlist;
  const list = nullable(change);
  return {
    apiId: api.id,
    ...(draft.name === api.name ? {} : { name: draft.name }),
    ...(draft.deleteProtection === api.deleteProtection ? {} : { deleteProtection: draft.deleteProtection }),
    ...(list === undefined ? {} : { ipAllowlist: list }),
  };
};

/** Rebases the draft on a version that another editor has stored: unchanged fields follow that version. @param base the API that the draft started from */
export const rebased = (draft: SettingsDraft, base: Api, stored: Api): SettingsDraft => ({
  name: draft.name === base.name ? stored.name : draft.name,
  deleteProtection: draft.deleteProtection === base.deleteProtection ? stored.deleteProtection : draft.deleteProtection,
  ipAllowlist: draft.ipAllowlist,
});
