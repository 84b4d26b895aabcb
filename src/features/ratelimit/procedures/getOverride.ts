import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetOverrideRequestSchema, GetOverrideResponseSchema, OverrideSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { Procedure } from "../../calls/call.ts";
import type { LiveOverride } from "../overridesRepository.ts";
import { findNamespace, type OverrideDeps, overrideNotFound } from "./shared/findNamespace.ts";

export const showOverride = ({ _id, identifier, limit, duration }: LiveOverride): MessageInitShape<typeof OverrideSchema> => ({
  overrideId: _id,
  identifier,
  limit: BigInt(limit),
  duration: BigInt(duration),
});

/** Reads the override that was set with exactly this text (ratelimit §9). */
export const getOverride =
  (deps: OverrideDeps): Procedure<typeof GetOverrideRequestSchema, typeof GetOverrideResponseSchema> =>
  async ({ namespace, identifier }, call) => {
    const { _id } = await findNamespace(deps, namespace, "ratelimit.read_override", call);
    const override = await deps.overrides.find(_id, identifier, call);
    if (override === null) throw overrideNotFound(identifier);
    call.showRevision(override);
    return { data: showOverride(override) };
  };
