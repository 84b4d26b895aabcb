/** Collections whose documents have an outbox; what a call makes on its way comes before what it was made for. */
export const auditedCollections = [
  "permissions",
  "roles",
  "identities",
  "namespaces",
  "apis",
  "migrations",
  "keys",
  "rootKeys",
  "overrides",
  "sessions",
  "failedSignIns",
] as const;
export type AuditedCollection = (typeof auditedCollections)[number];
