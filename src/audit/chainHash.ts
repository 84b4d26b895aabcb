import { hash } from "node:crypto";
import type { AuditEvent } from "../storage/auditEvents.ts";

/** Hash of the (imaginary) entry before the first one. */
export const GENESIS: string = "0".repeat(64);

/** Hex SHA-256 that chains an event to its predecessor's hash. Property order is part of the format. */
export const chainHash = (previousHash: string, sequence: number, event: AuditEvent): string => {
  const { id, event: name, time, actor, display, remoteIp, userAgent, resources, correlationId } = event;
  const canonical = JSON.stringify([
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
  ]);
  return hash("sha256", canonical, "hex");
};
