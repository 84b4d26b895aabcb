import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { PermissionDocument, RoleDocument } from "../../platform/storage/port/documents.ts";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";

/** Makes the event of giving a permission to a role, or of taking it away. */
export const roleConnection = (
  source: AuditSource,
  event: "authorization.connect_role_and_permission" | "authorization.disconnect_role_and_permissions",
  role: Pick<RoleDocument, "_id" | "name">,
  { _id, slug }: PermissionDocument,
): AuditEvent => {
  const did = event === "authorization.connect_role_and_permission" ? "Connected" : "Disconnected";
  const resources = [resource("role", role._id, role.name), resource("permission", _id, slug)];
  return auditEvent(source, event, `${did} role ${role.name} and permission ${slug}`, ...resources);
};
