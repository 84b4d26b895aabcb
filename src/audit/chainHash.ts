import { hash } from "node:crypto";
import type { AuditEvent } from "../storage/port/auditEvents.ts";

/** Hash of the (imaginary) entry before the first one. */
export const GENESIS: string = "0".repeat(64);

/** The newest form of entries. 2: with what the events change. It is written once all live nodes know it. */
export const AUDIT_FORMAT = 2;

/** Whether this version knows how an entry was hashed. */
export const isKnownFormat = (format: number): boolean => format === 1 || format === AUDIT_FORMAT;

/** Hex SHA-256 that chains an event to its predecessor's hash. Property order is part of the format. */
export const chainHash = (previousHash: string, sequence: number, event: AuditEvent, format = 1): string => {
  const { id, event: name, time, actor, display, remoteIp, userAgent, resources, correlationId, changes } = event;
  const members = [
    previousHash,
    sequence,
    id,
    name,
    time,
    [actor.type, actor.id, actor.name ?? null],
    display,
    remoteIp ?? null,
    userAgent ?? null,
    resources.map((item) => [item.type, item.id, item.name ?? null]),
    correlationId,
  ];
  // Begins with its number, as the first form begins with a text: no entry has the same text in two forms.
  return hash("sha256", JSON.stringify(format === 1 ? members : [format, ...members, changes ?? null]), "hex");
};
