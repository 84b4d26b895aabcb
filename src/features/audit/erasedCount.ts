import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { AUDIT_FORMAT } from "./chainHash.ts";

/** Entries whose texts were erased; `unhashed`: those of them of whose rest no hash is known but that which the erasure states. */
export interface ErasedCount {
  readonly entries: number;
  readonly unhashed: number;
}

/** Whether an entry has lost what its hash covers: only the seal says what is left of it (data §4). */
export const isUnhashed = ({ erasure, format }: AuditLogDocument): boolean => erasure !== undefined && format !== AUDIT_FORMAT;

/** Counts erased entries as a walk comes by them. */
export const createErasedCount = (): { readonly add: (entry: AuditLogDocument) => void; readonly count: () => ErasedCount } => {
  let entries = 0;
  let unhashed = 0;
  return {
    add: (entry) => {
      if (entry.erasure !== undefined) entries++;
      if (isUnhashed(entry)) unhashed++;
    },
    count: () => ({ entries, unhashed }),
  };
};
