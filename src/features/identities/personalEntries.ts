import type { AuditResource } from "../../platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { readChanges } from "../audit/readChanges.ts";

/** Whom an erasure is about, as far as entries of the audit log tell. */
export interface Person {
  readonly externalId: string;
  readonly identityIds: readonly string[];
  /** Keys of the person, of those that the entries are about. */
  readonly keyIds: ReadonlySet<string>;
  /** Number of the last entry whose externalId is the person's: what came later tells of whoever took it again. */
  readonly namedThrough: number;
}

/** What tells who somebody is, as `changes` name it. */
const personal: ReadonlySet<unknown> = new Set(["externalId", "name", "meta"]);

/** The resources of a type, none of an event that was altered so that it has no resources any more. */
export const resourcesOf = ({ event: { resources } }: AuditLogDocument, type: string): readonly AuditResource[] =>
  (resources ?? []).filter((each) => each.type === type);

/**
 * Whether the texts of an entry name the person, or did before they were erased. What was done to the person's identity and keys without
 * naming anybody stays told.
 */
export const namesPerson = (entry: AuditLogDocument, { externalId, identityIds, keyIds, namedThrough }: Person): boolean => {
  const changes = readChanges(entry) ?? [];
  const isNamed = changes.some(({ field, before, after }) => field === "externalId" && (before === externalId || after === externalId));
  if (isNamed && entry.sequence <= namedThrough) return true;
  const own = [
    ...resourcesOf(entry, "identity").filter(({ id }) => identityIds.includes(id)),
    ...resourcesOf(entry, "key").filter(({ id }) => keyIds.has(id)),
  ];
  if (own.length === 0) return false;
  return entry.erasure !== undefined || own.some(({ name }) => name !== undefined) || changes.some(isTelling);
};

const isTelling = ({ field, redacted }: { readonly field?: unknown; readonly redacted?: unknown }): boolean =>
  personal.has(field) && redacted !== true;
