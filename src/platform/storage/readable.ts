import { auditedCollections } from "./port/auditedCollections.ts";
import { type BaseDocument, SCHEMA_VERSION } from "./port/baseDocument.ts";
import type { CollectionName } from "./port/documents.ts";
import { DocumentTooNewError } from "./port/errors.ts";

const objects: ReadonlySet<CollectionName> = new Set(auditedCollections);

/**
 * Gives a document of the collection on as it was read, or throws `DocumentTooNewError` where a newer version wrote it. For whatever
 * an engine reads as a whole. Only objects are refused: what nodes keep for each other (the feed of changes, leases, counters, their
 * own rows) has to be read by nodes of several versions at once, and so keeps its form.
 */
export const readable = <D>(collection: CollectionName): ((document: D) => D) => {
  if (!objects.has(collection)) return (document) => document;
  return (document) => {
    const { _id, v } = document as unknown as BaseDocument;
    if (v > SCHEMA_VERSION) throw new DocumentTooNewError(collection, _id, v, SCHEMA_VERSION);
    return document;
  };
};
