import type { NullableDescription } from "../../../gen/latchkey/v2/permissions_pb.ts";

/** The description after an update: omitted keeps it, null and the empty text remove it (permissions §10a). */
export const changedDescription = (change: NullableDescription | undefined, current: string | undefined): string | undefined => {
  if (change === undefined) return current;
  return (change.kind.case === "value" && change.kind.value) || undefined;
};
