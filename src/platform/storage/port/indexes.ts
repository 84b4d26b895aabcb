import { type AuditedCollection, auditedCollections } from "./auditedCollections.ts";
import type { CollectionName, Documents } from "./documents.ts";
import { sweptCollections } from "./sweptCollections.ts";

export interface IndexDeclaration<N extends CollectionName = CollectionName> {
  readonly collection: N;
  readonly name: string;
  readonly fields: readonly (keyof Documents[N] & string)[];
  readonly unique?: true;
  /** Only documents that have this field are in the index. */
  readonly onlyWith?: keyof Documents[N] & string;
  /** The single field is a Date; documents are removed some time after it has passed. */
  readonly expiry?: true;
}

const index = <N extends CollectionName>(declaration: IndexDeclaration<N>): IndexDeclaration => declaration as unknown as IndexDeclaration;

const pending = auditedCollections.map((collection) =>
  index({ collection, name: "pending", fields: ["pendingMark"], onlyWith: "pendingMark" }),
);

/** Deleted objects whose ids others may still hold. */
const swept = sweptCollections.map((collection) => index({ collection, name: "sweep", fields: ["sweepFrom"], onlyWith: "sweepFrom" }));

/** Keys, overrides and sessions are listed by what they belong to; failed sign-ins are not listed. */
const listedOtherwise: ReadonlySet<AuditedCollection> = new Set<AuditedCollection>(["keys", "overrides", "sessions", "failedSignIns"]);

/** A search for a part of a text looks at everything that lives: with the text in the index, it opens only what it finds. */
const searched = ["identities", "permissions", "roles"] as const;
const isSearched: ReadonlySet<AuditedCollection> = new Set<AuditedCollection>(searched);
const liveTexts = searched.map((collection) => index({ collection, name: "liveTexts", fields: ["deletedAt", "_id", "search"] }));

/**
 * What lives of a collection, in the order of the ids. An index that does not know which objects are deleted makes a list walk over
 * all of them, and there may be any number: deleted keys and namespaces stay, the others wait for their events and their sweep.
 */
const live = auditedCollections
  .filter((collection) => !listedOtherwise.has(collection) && !isSearched.has(collection))
  .map((collection) => index({ collection, name: "live", fields: ["deletedAt", "_id"] }));

/** Declared once for both engines. Whoever changes one gives it another name, and puts the old one among `retired`. */
export const indexes: readonly IndexDeclaration[] = [
  index({ collection: "keys", name: "hash", fields: ["workspaceId", "hash"], unique: true, onlyWith: "hash" }),
  index({ collection: "keys", name: "importedHash", fields: ["workspaceId", "importedHash"], unique: true, onlyWith: "importedHash" }),
  index({ collection: "keys", name: "liveOfApi", fields: ["workspaceId", "apiId", "deletedAt", "_id"] }),
  index({
    collection: "keys",
    name: "liveOfIdentity",
    fields: ["workspaceId", "identityId", "apiId", "deletedAt", "_id"],
    onlyWith: "identityId",
  }),
  // What a search by the beginning of a text, or by the end of the secret, reads: of what lives in an API, in order. Every key
  // has a start: `onlyWith` keeps queries away that ask for none, and have an index of their own.
  index({ collection: "keys", name: "startOfApi", fields: ["workspaceId", "apiId", "deletedAt", "start", "_id"], onlyWith: "start" }),
  index({ collection: "keys", name: "nameOfApi", fields: ["workspaceId", "apiId", "deletedAt", "nameKey", "_id"], onlyWith: "nameKey" }),
  index({
    collection: "keys",
    name: "lastFourOfApi",
    fields: ["workspaceId", "apiId", "deletedAt", "lastFour", "_id"],
    onlyWith: "lastFour",
  }),
  index({ collection: "identities", name: "externalKey", fields: ["workspaceId", "externalKey", "_id"], onlyWith: "externalKey" }),
  index({ collection: "identities", name: "externalId", fields: ["workspaceId", "externalId"], unique: true, onlyWith: "externalId" }),
  index({ collection: "permissions", name: "slug", fields: ["workspaceId", "slugKey"], unique: true, onlyWith: "slugKey" }),
  index({ collection: "roles", name: "name", fields: ["workspaceId", "nameKey"], unique: true, onlyWith: "nameKey" }),
  index({ collection: "rootKeys", name: "hash", fields: ["workspaceId", "hash"], unique: true, onlyWith: "hash" }),
  index({ collection: "namespaces", name: "name", fields: ["workspaceId", "name"], unique: true }),
  index({
    collection: "overrides",
    name: "identifier",
    fields: ["workspaceId", "namespaceId", "identifier"],
    unique: true,
    onlyWith: "identifier",
  }),
  index({ collection: "overrides", name: "liveOfNamespace", fields: ["workspaceId", "namespaceId", "deletedAt", "_id"] }),
  index({ collection: "audit", name: "sequence", fields: ["workspaceId", "sequence"], unique: true }),
  index({ collection: "counters", name: "expiry", fields: ["expireAt"], expiry: true }),
  index({ collection: "changes", name: "expiry", fields: ["expireAt"], expiry: true }),
  index({ collection: "idempotency", name: "expiry", fields: ["expireAt"], expiry: true }),
  index({ collection: "sessions", name: "hash", fields: ["workspaceId", "hash"], unique: true, onlyWith: "hash" }),
  index({ collection: "sessions", name: "liveOfRootKey", fields: ["workspaceId", "rootKeyId", "deletedAt", "_id"] }),
  index({ collection: "sessions", name: "expiry", fields: ["expireAt"], expiry: true }),
  index({ collection: "failedSignIns", name: "expiry", fields: ["expireAt"], expiry: true }),
  index({ collection: "nodes", name: "expiry", fields: ["expireAt"], expiry: true }),
  ...pending,
  ...swept,
  ...live,
  ...liveTexts,
];

/** Names of indexes that earlier versions made. They go once those that took their place are there. */
export const retired: readonly Pick<IndexDeclaration, "collection" | "name">[] = [
  { collection: "keys", name: "api" },
  { collection: "keys", name: "identity" },
  { collection: "overrides", name: "namespace" },
  ...searched.map((collection) => ({ collection, name: "live" }) as const),
];
