import type { Caller } from "../../platform/authorization/authorization.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createId } from "../../platform/base/ids.ts";
import type { AuditActor, AuditEvent, AuditResource } from "../../platform/storage/port/auditEvents.ts";

/** The names of protocol §11, `audit.drop`: entries of the log were dropped (management §4), and `audit.erase`: texts of some were erased (data §4). */
export type AuditEventName =
  | "api.create"
  | "api.update"
  | "api.delete"
  | "key.create"
  | "key.update"
  | "key.delete"
  | "key.reroll"
  | "key.decrypt"
  | "identity.create"
  | "identity.update"
  | "identity.delete"
  | "ratelimit.create"
  | "ratelimit.update"
  | "ratelimit.delete"
  | "permission.create"
  | "permission.update"
  | "permission.delete"
  | "role.create"
  | "role.update"
  | "role.delete"
  | "ratelimitNamespace.create"
  | "ratelimitNamespace.delete"
  | "ratelimit.set_override"
  | "ratelimit.delete_override"
  | "authorization.connect_permission_and_key"
  | "authorization.disconnect_permission_and_key"
  | "authorization.connect_role_and_key"
  | "authorization.disconnect_role_and_key"
  | "authorization.connect_role_and_permission"
  | "authorization.disconnect_role_and_permissions"
  | "rootKey.create"
  | "rootKey.update"
  | "rootKey.reroll"
  | "rootKey.delete"
  | "migration.create"
  | "migration.delete"
  | "console.sign_in"
  | "console.sign_out"
  | "console.elevate"
  | "console.sign_in_failed"
  | "console.elevate_failed"
  | "audit.drop"
  | "audit.erase";

/** Who makes a change, and from where; the same for all events of one call. */
export interface AuditSource {
  readonly actor: AuditActor;
  readonly correlationId: string;
  readonly now: number;
  readonly remoteIp?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** @param display what happened, for a person to read; never a secret. */
export const auditEvent = (
  source: AuditSource,
  event: AuditEventName,
  display: string,
  ...resources: readonly AuditResource[]
): AuditEvent => ({
  id: createId("log", source.now),
  event,
  time: source.now,
  actor: source.actor,
  display,
  ...(source.remoteIp === undefined ? {} : { remoteIp: source.remoteIp }),
  ...(source.userAgent === undefined ? {} : { userAgent: source.userAgent }),
  resources,
  correlationId: source.correlationId,
});

/** Whoever calls, as the actor of what the call changes (protocol §11). */
export const actorOf = ({ rootKeyId: id, name, isPerson }: Pick<Caller, "rootKeyId" | "name" | "isPerson">): AuditActor => ({
  type: isPerson ? "person" : "rootkey",
  id,
  ...(name === undefined ? {} : { name }),
});

/** The command line and the service itself act as `system` (protocol §11). */
export const systemSource = (clock: Clock): AuditSource => {
  const now = clock.now();
  return { actor: { type: "system", id: "system" }, correlationId: createId("cor", now), now };
};

/** A resource; a name is left out where there is none. */
export const resource = (type: string, id: string, name?: string): AuditResource => ({ type, id, ...(name === undefined ? {} : { name }) });
