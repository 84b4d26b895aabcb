import type { JsonObject } from "@bufbuild/protobuf";
import type { AuditEvent } from "../storage/port/auditEvents.ts";

const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** What an event tells of its change, as objects; undefined when it tells nothing, or was altered so that nobody can read it. */
export const readChanges = ({ changes }: AuditEvent): JsonObject[] | undefined => {
  if (!Array.isArray(changes)) return undefined;
  try {
    const values: unknown[] = changes.map((text) => JSON.parse(text));
    return values.every(isObject) ? values : undefined;
  } catch {
    return undefined;
  }
};
