import { hash } from "node:crypto";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import { SCHEMA_VERSION, WORKSPACE_ID } from "../../platform/storage/port/baseDocument.ts";
import type { OperationOptions } from "../../platform/storage/port/collection.ts";
import type { AuditIndexDocument, AuditLogDocument } from "../../platform/storage/port/documents.ts";
import { DuplicateKeyError } from "../../platform/storage/port/errors.ts";
import type { Store } from "../../platform/storage/port/store.ts";
import { chunks } from "../../platform/util/chunks.ts";

/** Entries of a block: numbers 1–500 are block 0, 501–1000 block 1. */
export const BLOCK = 500;
/** A store bounds the time that one insert may take. */
const ROWS_PER_INSERT = 250;

/** What entries are found by; the letters begin the ids of rows. */
const kinds = { event: "e", actorId: "a", resourceType: "t", resourceId: "r", correlationId: "c" } as const;
const BLOCKS = "b";

export interface AuditTerm {
  readonly kind: keyof typeof kinds;
  readonly value: string;
}

/** Where in a block there are entries that have a term: 1–500. */
export interface AuditPlaces {
  readonly block: number;
  readonly offsets: readonly number[];
}

/** When what a block has happened, Unix ms: events come into the log later than they happen, and not in that order. */
export interface AuditSpan {
  readonly block: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Finds entries of the audit log by what is in them. One row for each term and block, made once the block is whole: entries that
 * earlier versions wrote get theirs as well, and no entry changes. What is behind the last block has to be looked through.
 */
export interface AuditIndexRepository {
  /** Number of the last entry that is indexed, 0 when none is. */
  readonly indexed: (options?: OperationOptions) => Promise<number>;
  /** Adds a block; again, if that was interrupted. `DuplicateKeyError` when another node is at it. */
  readonly add: (block: number, entries: readonly AuditLogDocument[]) => Promise<void>;
  /** Removes what leads to these entries of one block, and to those before them. */
  readonly remove: (entries: readonly AuditLogDocument[]) => Promise<void>;
  /** Forgets when blocks before this one happened; the last one that is indexed stays, it says how far that is. */
  readonly removeSpans: (block: number) => Promise<void>;
  /** Up to `limit` blocks from this one on that have the term, in order. */
  readonly find: (term: AuditTerm, from: number, limit: number, options?: OperationOptions) => Promise<AuditPlaces[]>;
  /** Up to `limit` blocks from this one on, in order. */
  readonly spans: (from: number, limit: number, options?: OperationOptions) => Promise<AuditSpan[]>;
}

/** The block of the entry of this number. */
export const blockWith = (sequence: number): number => Math.floor((sequence - 1) / BLOCK);

const DIGITS = 13;
const idOf = (prefix: string, block: number): string => prefix + String(block).padStart(DIGITS, "0");
const blockOf = ({ _id }: AuditIndexDocument): number => Number(_id.slice(-DIGITS));
/** Values are of any length and may hold anything: their hashes keep the ranges of two of them apart. */
const prefixOf = ({ kind, value }: AuditTerm): string => kinds[kind] + hash("sha256", value, "base64url").slice(0, 22);
const LAST = 10 ** DIGITS - 1;

const termsOf = ({ event, actor, resources, correlationId }: AuditEvent): AuditTerm[] => [
  // Of an event that was altered so much that it is none any more there may be none of these.
  { kind: "event", value: event ?? "" },
  { kind: "actorId", value: actor?.id ?? "" },
  { kind: "correlationId", value: correlationId ?? "" },
  ...(resources ?? []).flatMap(({ type, id }): AuditTerm[] => [
    { kind: "resourceType", value: type },
    { kind: "resourceId", value: id },
  ]),
];

const base = { v: SCHEMA_VERSION, workspaceId: WORKSPACE_ID } as const;

/**
 * Rows in the order of their ids: a store finds the places of neighbours in half the time. Most entries have most terms in common, and
 * a term is hashed once.
 */
const termRows = (block: number, entries: readonly AuditLogDocument[]): AuditIndexDocument[] => {
  const found = new Map<string, { readonly term: AuditTerm; readonly offsets: Set<number> }>();
  for (const { sequence, event } of entries) {
    for (const term of termsOf(event)) {
      const name = kinds[term.kind] + term.value;
      const row = found.get(name) ?? { term, offsets: new Set() };
      row.offsets.add(sequence - block * BLOCK);
      found.set(name, row);
    }
  }
  const rows = Array.from(found.values(), ({ term, offsets }) => ({ _id: idOf(prefixOf(term), block), ...base, offsets: [...offsets] }));
  return rows.sort((a, b) => (a._id < b._id ? -1 : 1));
};

/** The last of them says that the block is whole. */
export const rowsOfBlock = (block: number, entries: readonly AuditLogDocument[]): AuditIndexDocument[] => {
  const times = entries.map(({ event }) => event.time);
  return [...termRows(block, entries), { _id: idOf(BLOCKS, block), ...base, from: Math.min(...times), to: Math.max(...times) }];
};

export const createAuditIndexRepository = (store: Store): AuditIndexRepository => {
  const index = store.collection("auditIndex");
  const range = (prefix: string, from: number) => ({ _id: { $gte: idOf(prefix, from), $lte: idOf(prefix, LAST) } });
  const indexed: AuditIndexRepository["indexed"] = async (options) => {
    const last = await index.findOne(range(BLOCKS, 0), { ...options, sort: { _id: -1 } });
    return last === null ? 0 : (blockOf(last) + 1) * BLOCK;
  };
  return {
    indexed,
    remove: async (entries) => {
      const last = entries.at(-1);
      if (last === undefined) return;
      const block = blockWith(last.sequence);
      const upTo = last.sequence - block * BLOCK;
      const ids = termRows(block, entries).map(({ _id }) => _id);
      for (const run of chunks(ids, ROWS_PER_INSERT)) {
        const rows = await index.find({ _id: { $in: run } }).toArray();
        // What also leads to later entries goes with those.
        const gone = rows.filter(({ offsets = [] }) => offsets.every((offset) => offset <= upTo)).map(({ _id }) => _id);
        if (gone.length > 0) await index.deleteMany({ _id: { $in: gone } });
      }
    },
    removeSpans: async (block) => {
      const before = Math.min(block, (await indexed()) / BLOCK - 1);
      if (before > 0) await index.deleteMany({ _id: { $gte: idOf(BLOCKS, 0), $lt: idOf(BLOCKS, before) } });
    },
    add: async (block, entries) => {
      const rows = rowsOfBlock(block, entries);
      const insert = async (some: readonly AuditIndexDocument[]): Promise<void> => {
        for (const run of chunks(some, ROWS_PER_INSERT)) await index.insertMany(run);
      };
      try {
        await insert(rows);
      } catch (error) {
        if (!(error instanceof DuplicateKeyError)) throw error;
        const present = new Set((await index.findFields([], { _id: { $in: rows.map(({ _id }) => _id) } })).map(({ _id }) => _id));
        await insert(rows.filter(({ _id }) => !present.has(_id)));
      }
    },
    find: async (term, from, limit, options) => {
      const rows = await index.find(range(prefixOf(term), from), { ...options, sort: { _id: 1 }, limit }).toArray();
      return rows.map((row) => ({ block: blockOf(row), offsets: row.offsets ?? [] }));
    },
    spans: async (from, limit, options) => {
      const rows = await index.find(range(BLOCKS, from), { ...options, sort: { _id: 1 }, limit }).toArray();
      return rows.map((row) => ({ block: blockOf(row), from: row.from ?? 0, to: row.to ?? 0 }));
    },
  };
};
