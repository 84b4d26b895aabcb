import { hash } from "node:crypto";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import type { AuditLogRepository } from "./auditLogRepository.ts";
import { isHashedWhole, plainMembers, textsDigest } from "./chainHash.ts";
import { readChanges } from "./readChanges.ts";

/** The event that says of which entries of the log the texts were erased, and what is left of each: its statement. */
export const ERASED_EVENT = "audit.erase";

/** Field of the statement's change, in which the seals of the entries stand by their numbers. */
const FIELD = "entries";

/** Statements that a walk over the log keeps at a time. */
const STATEMENTS_KEPT = 4;

/** Whether an event has anything that an erasure takes away. */
export const hasTexts = ({ display, resources, changes }: AuditEvent): boolean =>
  display !== "" || changes !== undefined || resources.some(({ name }) => name !== undefined);

/** An entry without its texts; to be written once the statement is in the log. @param statement the id of that event */
export const withoutTexts = ({ salt, event, ...entry }: AuditLogDocument, statement: string): AuditLogDocument => {
  const { changes: _, ...rest } = event;
  const digest = salt === undefined ? {} : { digest: textsDigest(salt, event) };
  const resources = rest.resources.map(({ type, id }) => ({ type, id }));
  return { ...entry, event: { ...rest, display: "", resources }, erasure: { statement, ...digest } };
};

/** Hex SHA-256 over all that is left of an erased entry, its hash included. */
export const sealOf = ({ previousHash, sequence, hash: own, format = 1, event, erasure }: AuditLogDocument): string =>
  hash("sha256", JSON.stringify([format, previousHash, own, sequence, ...plainMembers(event), erasure?.digest ?? null]), "hex");

/** The `changes` of a statement. @param erased as they are to be written */
export const sealsText = (erased: readonly AuditLogDocument[]): string =>
  JSON.stringify({ field: FIELD, after: Object.fromEntries(erased.map((entry) => [entry.sequence, sealOf(entry)])) });

/** The seals that an entry of the log states, by their entries' numbers; none if it is no statement, or not as it was written. */
export const statedSeals = (entry: AuditLogDocument): ReadonlyMap<number, string> => {
  try {
    if (entry.event.event !== ERASED_EVENT || !isHashedWhole(entry)) return new Map();
  } catch (error) {
    // Altered so much that it is no event any more.
    if (!(error instanceof TypeError)) throw error;
    return new Map();
  }
  const after = readChanges(entry)?.find(({ field }) => field === FIELD)?.after;
  return new Map(Object.entries(after ?? {}).flatMap(([number, seal]) => (typeof seal === "string" ? [[Number(number), seal]] : [])));
};

/** What the log states of an erased entry, and the number of the statement. */
export interface Stated {
  readonly seal: string;
  readonly by: number;
}

/** What the log states of an erased entry; undefined for one that was not erased, or of which nothing later in the log says so. */
export type FindSeal = (entry: AuditLogDocument) => Promise<Stated | undefined>;

/** Looks for the statements of erased entries, each once for those that stand together. */
export const createFindSeal = (auditLog: Pick<AuditLogRepository, "findEntry">, options: OperationOptions = {}): FindSeal => {
  const kept = new Map<string, { readonly sequence: number; readonly seals: ReadonlyMap<number, string> }>();
  const read = async (id: string) => {
    const entry = await auditLog.findEntry(id, options);
    const stated = { sequence: entry?.sequence ?? 0, seals: entry === null ? new Map<number, string>() : statedSeals(entry) };
    const [oldest] = kept.keys();
    if (kept.size === STATEMENTS_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(id, stated);
    return stated;
  };
  return async ({ sequence, erasure }) => {
    if (erasure === undefined) return undefined;
    const stated = kept.get(erasure.statement) ?? (await read(erasure.statement));
    const seal = stated.sequence > sequence ? stated.seals.get(sequence) : undefined;
    return seal === undefined ? undefined : { seal, by: stated.sequence };
  };
};
