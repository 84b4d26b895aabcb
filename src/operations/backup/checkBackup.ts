import { type AuditFault, BEFORE_ALL, faultsOf, type Place } from "../../features/audit/auditFaults.ts";
import { breakOfStub } from "../../features/audit/auditStub.ts";
import { sealOf, statedSeals } from "../../features/audit/erasedEntry.ts";
import type { AuditLogDocument, KeyDocument } from "../../platform/storage/port/documents.ts";
import type { SystemDocument } from "../../platform/storage/port/internalDocuments.ts";
import { type BackupEnd, type BackupHeader, BackupUnusableError } from "./backupLines.ts";
import type { SourceBatch } from "./backupSource.ts";
import { readBackup } from "./readBackup.ts";
import { createTally, type Tallies } from "./tally.ts";

/** A backup that is as it was written. */
export interface CheckedBackup {
  readonly header: BackupHeader;
  readonly end: BackupEnd;
  readonly documents: number;
  /** Entries of the audit log, and the hash of the newest one. */
  readonly entries: number;
  readonly head: string;
  /** Ids of the encryption keys that its recoverable keys need. */
  readonly encryptionKeys: readonly string[];
  /** What is wrong with the chain of the audit log; undefined: it is whole. */
  readonly fault: string | undefined;
}

/** Follows the chain of the audit log as batches come by: that collection comes after what the store says of itself. */
const createChainCheck = () => {
  let place: Place = BEFORE_ALL;
  let entries = 0;
  let stub: SystemDocument["stub"];
  let statement: AuditLogDocument | undefined;
  const faults: AuditFault[] = [];
  /** Seals of erased entries, whose statements come behind them, by their numbers. */
  const unstated = new Map<number, string>();
  return {
    add: ({ collection, texts }: SourceBatch): void => {
      if (collection === "system") {
        stub = texts.map((text) => JSON.parse(text) as SystemDocument).find((document) => document.stub !== undefined)?.stub;
        place = stub ?? BEFORE_ALL;
      }
      if (collection !== "audit") return;
      for (const text of texts) {
        const entry = JSON.parse(text) as AuditLogDocument;
        // Dropped already: its row had only not gone yet.
        if (stub !== undefined && entry.sequence <= stub.sequence) continue;
        if (entry._id === stub?.statement) statement = entry;
        const seal = entry.erasure && sealOf(entry);
        if (seal !== undefined) unstated.set(entry.sequence, seal);
        for (const [sequence, stated] of statedSeals(entry)) if (unstated.get(sequence) === stated) unstated.delete(sequence);
        if (faults.length === 0) faults.push(...faultsOf(entry, place, seal));
        place = entry;
        entries++;
      }
    },
    result: async (): Promise<{ readonly entries: number; readonly head: string; readonly fault: string | undefined }> => {
      const { broken } = await breakOfStub({ findEntry: async () => statement ?? null }, stub ?? null);
      const [first] = faults;
      const [erased] = unstated.keys();
      const fault =
        first !== undefined
          ? `entry ${first.sequence} (${first.eventId}) ${first.problem}`
          : erased !== undefined
            ? `the texts of entry ${erased} are gone, and no event of it says so of what is left`
            : broken && "entries are missing that no event of it calls dropped";
      return { entries, head: place.hash, fault };
    },
  };
};

/** Collections of which two stores, or a store and what is told of one, do not hold the same. */
export const differencesBetween = (told: Tallies, found: Tallies): readonly string[] =>
  [...new Set([...Object.keys(told), ...Object.keys(found)])].filter((name) => {
    const [one, another] = [told[name as keyof Tallies], found[name as keyof Tallies]];
    return one?.documents !== another?.documents || one?.digest !== another?.digest;
  });

/**
 * Reads a whole backup: that it is as it was written and holds what it says, and whether the chain of its audit log is whole. Rejects
 * with `BackupUnusableError` where it does not.
 * @param onProgress hears how many documents were read
 */
export const checkBackup = async (file: string, onProgress?: (documents: number) => void): Promise<CheckedBackup> => {
  const tally = createTally();
  const chain = createChainCheck();
  const encryptionKeys = new Set<string>();
  let documents = 0;
  let header: BackupHeader | undefined;
  let end: BackupEnd | undefined;
  for await (const part of readBackup(file)) {
    if (part.kind === "header") header = part.header;
    if (part.kind === "end") end = part.end;
    if (part.kind !== "batch") continue;
    tally.add(part);
    chain.add(part);
    if (part.collection === "keys") {
      for (const text of part.texts) {
        const keyId = text.includes('"encrypted":') ? (JSON.parse(text) as KeyDocument).encrypted?.keyId : undefined;
        if (keyId !== undefined) encryptionKeys.add(keyId);
      }
    }
    documents += part.texts.length;
    onProgress?.(documents);
  }
  if (header === undefined || end === undefined) throw new BackupUnusableError(`${file} is empty`);
  const [different] = differencesBetween(end.tallies, tally.result());
  if (different !== undefined) throw new BackupUnusableError(`${file} does not hold what it says of ${different}`);
  const { entries, head, fault } = await chain.result();
  return { header, end, documents, entries, head, fault, encryptionKeys: [...encryptionKeys].sort() };
};
