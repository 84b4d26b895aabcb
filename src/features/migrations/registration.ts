import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";

/** The events of registering and removing imports of keys; the command line and the procedures of `migrations` use the same. */

export const migrationCreated = (source: AuditSource, id: string, name: string | undefined): AuditEvent =>
  auditEvent(source, "migration.create", `Created migration ${id}`, resource("migration", id, name));

export const migrationDeleted = (source: AuditSource, id: string, name: string | undefined): AuditEvent =>
  auditEvent(source, "migration.delete", `Deleted migration ${id}`, resource("migration", id, name));
