import type { Update } from "../../platform/storage/port/collection.ts";
import type { ApiDocument } from "../../platform/storage/port/documents.ts";
import type { Modification } from "../../platform/storage/repositories/shared/modify.ts";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";

/** What may be changed of an API; what is left out stays. */
export interface ApiUpdate {
  readonly name?: string | undefined;
  readonly deleteProtection?: boolean | undefined;
  /** As `parseNetworks` gives them, at least one; null lifts the restriction. */
  readonly ipAllowlist?: readonly string[] | null | undefined;
}

/** What happened, for a person to read. */
const describe = (apiId: string, { name, deleteProtection, ipAllowlist }: ApiUpdate): string => {
  const given = [name, deleteProtection, ipAllowlist].filter((each) => each !== undefined).length;
  if (given === 1 && deleteProtection === true) return `Protected API ${apiId} against deletion`;
  if (given === 1 && deleteProtection === false) return `Lifted the deletion protection of API ${apiId}`;
  if (given === 1 && ipAllowlist !== undefined) return `Set the IP allow list of API ${apiId}`;
  return `Updated API ${apiId}`;
};

/**
 * What a change of an API writes, by the API as it is then, with its event `api.update`. It writes both, and `updatedAt`,
 * also when all is so already (management §8). The command line and `apis.updateApi` use it.
 */
export const changeApi =
  (update: ApiUpdate, source: AuditSource): ((api: ApiDocument) => Modification<ApiDocument>) =>
  (api) => {
    const { name, deleteProtection, ipAllowlist } = update;
    const $set: Update<ApiDocument>["$set"] = {
      // Calls may overtake one another, and nodes' clocks differ.
      updatedAt: Math.max(api.updatedAt ?? 0, source.now),
      ...(name === undefined ? {} : { name }),
      ...(deleteProtection ? { protected: true } : {}),
      ...(ipAllowlist ? { ipAllowlist } : {}),
    };
    const $unset: Update<ApiDocument>["$unset"] = {
      ...(deleteProtection === false ? { protected: "" } : {}),
      ...(ipAllowlist === null ? { ipAllowlist: "" } : {}),
    };
    const target = resource("api", api._id, name ?? api.name);
    const event = auditEvent(source, "api.update", describe(api._id, update), target);
    return { update: Object.keys($unset).length > 0 ? { $set, $unset } : { $set }, events: [event] };
  };
