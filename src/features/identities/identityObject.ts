import type { MessageInitShape } from "@bufbuild/protobuf";
import type { IdentitySchema } from "../../../gen/latchkey/v2/common_pb.ts";
import type { IdentityDocument } from "../../platform/storage/port/documents.ts";
import { readMeta } from "../../platform/util/jsonText.ts";
import { showRatelimits } from "../calls/storedRatelimits.ts";

/** An identity as responses show it: meta and limits are absent when empty. */
export const showIdentity = ({ _id, externalId, meta, ratelimits }: IdentityDocument): MessageInitShape<typeof IdentitySchema> => {
  const shown = readMeta(meta);
  return { id: _id, externalId: externalId ?? "", ...(shown === undefined ? {} : { meta: shown }), ratelimits: showRatelimits(ratelimits) };
};
