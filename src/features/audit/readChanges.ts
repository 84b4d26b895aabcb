import type { JsonObject } from "@bufbuild/protobuf";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { isObject } from "../../platform/util/isObject.ts";

/**
 * What an entry's event tells of its change, as objects; undefined when it tells nothing, or was altered so that nobody can read it, or
 * the entry has the first form: its hash covers no changes, so somebody has put them there.
 */
export const readChanges = ({ event: { changes }, format = 1 }: Pick<AuditLogDocument, "event" | "format">): JsonObject[] | undefined => {
  if (format < 2 || !Array.isArray(changes)) return undefined;
  try {
    const values: unknown[] = changes.map((text) => JSON.parse(text));
    return values.every(isObject) ? (values as JsonObject[]) : undefined;
  } catch {
    return undefined;
  }
};
