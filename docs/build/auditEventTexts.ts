import type { AuditEventName } from "../../src/features/audit/auditEvent.ts";

/** What a row says of an event. Markdown. */
export interface AuditEventText {
  readonly when: string;
  /** Types of its resources, in their order. */
  readonly resources: readonly string[];
  /** It tells in `meta.changes` what it changed. */
  readonly changes?: true;
}

const keyAndPermission = ["key", "permission"];
const keyAndRole = ["key", "role"];
const roleAndPermission = ["role", "permission"];
const session = ["session", "key"];

/** Every event that the audit log can hold. */
export const auditEventTexts: Readonly<Record<AuditEventName, AuditEventText>> = {
  "api.create": { when: "An API was created.", resources: ["api"] },
  "api.update": { when: "Name, delete protection or IP allow list of an API was set.", resources: ["api"], changes: true },
  "api.delete": { when: "An API was deleted. Its keys have no events of their own.", resources: ["api"] },
  "key.create": { when: "A key was created or imported.", resources: ["key", "api"] },
  "key.update": {
    when: "A key or its credits were changed; actor `system`: a refill was due, or an imported key was verified for the first time.",
    resources: ["key"],
    changes: true,
  },
  "key.delete": { when: "A key was deleted.", resources: ["key"] },
  "key.reroll": { when: "A key got a successor with a new secret.", resources: ["key", "key", "api"], changes: true },
  "key.decrypt": { when: "The secret of a recoverable key was shown.", resources: ["key"] },
  "identity.create": { when: "An identity was created, also by giving a key a new external id.", resources: ["identity"] },
  "identity.update": { when: "Metadata or rate limits of an identity were replaced.", resources: ["identity"], changes: true },
  "identity.delete": { when: "An identity was deleted.", resources: ["identity"] },
  "ratelimit.create": { when: "An identity got a rate limit.", resources: ["ratelimit", "identity"] },
  "ratelimit.update": { when: "A rate limit of an identity was changed.", resources: ["ratelimit", "identity"] },
  "ratelimit.delete": { when: "A rate limit of an identity was removed.", resources: ["ratelimit", "identity"] },
  "permission.create": { when: "A permission was created, also by naming a new slug.", resources: ["permission"] },
  "permission.update": { when: "Name, slug or description of a permission was changed.", resources: ["permission"], changes: true },
  "permission.delete": { when: "A permission was deleted.", resources: ["permission"] },
  "role.create": { when: "A role was created, also by importing keys.", resources: ["role"] },
  "role.update": { when: "Name or description of a role was changed.", resources: ["role"], changes: true },
  "role.delete": { when: "A role was deleted.", resources: ["role"] },
  "ratelimitNamespace.create": { when: "A check of a limit created a namespace.", resources: ["ratelimitNamespace"] },
  "ratelimitNamespace.delete": { when: "A namespace was deleted.", resources: ["ratelimitNamespace"] },
  "ratelimit.set_override": { when: "An override was created or replaced.", resources: ["ratelimitOverride"], changes: true },
  "ratelimit.delete_override": { when: "An override was removed.", resources: ["ratelimitOverride", "ratelimitNamespace"] },
  "authorization.connect_permission_and_key": { when: "A key got a permission.", resources: keyAndPermission, changes: true },
  "authorization.disconnect_permission_and_key": { when: "A key lost a permission.", resources: keyAndPermission, changes: true },
  "authorization.connect_role_and_key": { when: "A key got a role.", resources: keyAndRole, changes: true },
  "authorization.disconnect_role_and_key": { when: "A key lost a role.", resources: keyAndRole, changes: true },
  "authorization.connect_role_and_permission": { when: "A role got a permission.", resources: roleAndPermission, changes: true },
  "authorization.disconnect_role_and_permissions": { when: "A role lost a permission.", resources: roleAndPermission, changes: true },
  "rootKey.create": { when: "A root key was created.", resources: ["key"] },
  "rootKey.update": {
    when: "Name, state, permissions or expiry of a root key was changed, or it was revoked.",
    resources: ["key"],
    changes: true,
  },
  "rootKey.reroll": { when: "A root key got a successor with a new secret.", resources: ["key", "key"], changes: true },
  "rootKey.delete": { when: "A root key was deleted.", resources: ["key"] },
  "migration.create": { when: "An import of keys was registered.", resources: ["migration"] },
  "migration.delete": { when: "An import of keys was removed.", resources: ["migration"] },
  "console.sign_in": {
    when: "A session of the console was opened, with a root key or by OpenID Connect; then the actor is of type `person`, and so is the second resource.",
    resources: session,
  },
  "console.sign_out": {
    when: "A session of the console was ended by its person; resources as for `console.sign_in`.",
    resources: session,
  },
  "console.elevate": {
    when: "The root key was entered again, or a person signed in again, for a sensitive action; resources as for `console.sign_in`.",
    resources: session,
  },
  "console.sign_in_failed": {
    when: "A sign-in failed: outcome `failure`, actor `anonymous`, at most one a minute for each address. Where the identity provider said who it was, a resource of type `person` names them.",
    resources: [],
  },
  "console.elevate_failed": {
    when: "A wrong root key was entered, or the identity provider did not confirm a repeated sign-in: outcome `failure`, at most one a minute for each address. Where the identity provider said who it was, a resource of type `person` names them.",
    resources: [],
  },
  "audit.drop": {
    when: "Entries older than `AUDIT_RETENTION_DAYS` were dropped. Its resource names the last of them.",
    resources: ["auditLog"],
  },
  "audit.erase": {
    when: "The texts of entries of the audit log were erased, with the person that they named. Its changes have a seal of the rest of each entry, by its number.",
    resources: ["identity"],
    changes: true,
  },
};
