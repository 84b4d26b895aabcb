import type { DeleteOverrideRequestSchema, DeleteOverrideResponseSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { overridesTag } from "../../../platform/storage/port/tags.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { remove } from "../../calls/mutations.ts";
import { findNamespace, type OverrideDeps, overrideNotFound } from "./shared/findNamespace.ts";

/** Removes the override that was set with exactly this text; checks fall back at once (ratelimit §11). */
export const deleteOverride =
  (deps: OverrideDeps): Procedure<typeof DeleteOverrideRequestSchema, typeof DeleteOverrideResponseSchema> =>
  async ({ namespace, identifier }, call) => {
    const found = await findNamespace(deps, namespace, "ratelimit.delete_override", call);
    const override = await deps.overrides.find(found._id, identifier, call);
    if (override === null) throw overrideNotFound(identifier);
    const event = auditEvent(
      auditSource(call),
      "ratelimit.delete_override",
      `Deleted override ${identifier}`,
      resource("ratelimitOverride", override._id, identifier),
      resource("ratelimitNamespace", found._id, found.name),
    );
    const removal = { collection: "overrides", tag: overridesTag(found._id), found: override, event } as const;
    return remove(call, { ...removal, gone: () => overrideNotFound(identifier) }, (events) =>
      deps.overrides.delete(override, call.receivedAt, events, call),
    );
  };
