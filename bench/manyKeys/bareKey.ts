import type { KeyDocument } from "../../src/platform/storage/port/documents.ts";

/** The same key without an identity, roles, permissions and limits. */
export const bareKey = ({ identityId: _, ...key }: KeyDocument): KeyDocument => ({
  ...key,
  roleIds: [],
  permissionIds: [],
  ratelimits: [],
});
