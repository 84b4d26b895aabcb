import type { SetOverrideRequestSchema, SetOverrideResponseSchema } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import type { AuditEvent } from "../../../platform/storage/port/auditEvents.ts";
import { overridesTag } from "../../../platform/storage/port/tags.ts";
import { auditEvent, resource } from "../../audit/auditEvent.ts";
import { auditSource } from "../../calls/auditSource.ts";
import type { Procedure } from "../../calls/call.ts";
import { findNamespace, type OverrideDeps } from "./shared/findNamespace.ts";

/** Creates or replaces the override of one identifier or pattern (ratelimit §8); under `If-Match` it replaces only (management §2). */
export const setOverride =
  (deps: OverrideDeps): Procedure<typeof SetOverrideRequestSchema, typeof SetOverrideResponseSchema> =>
  async ({ namespace, identifier, limit, duration }, call) => {
    const { _id: namespaceId } = await findNamespace(deps, namespace, "ratelimit.set_override", call);
    const newId = call.newId("rlor");
    const found = await deps.overrides.find(namespaceId, identifier, call);
    const id = found?._id ?? newId;
    const source = auditSource(call);
    const settings = { namespaceId, identifier, limit: Number(limit), duration: Number(duration) };
    const eventOf = (setId: string): AuditEvent =>
      auditEvent(source, "ratelimit.set_override", `Set override ${identifier}`, resource("ratelimitOverride", setId, identifier));
    return call.perform({
      change: { collection: "overrides", id, tag: overridesTag(namespaceId) },
      found,
      write: (mark) => deps.overrides.set(settings, newId, call.receivedAt, (setId) => mark([eventOf(setId)]), call),
      written: id,
      answer: (overrideId) => ({ data: { overrideId } }),
    });
  };
