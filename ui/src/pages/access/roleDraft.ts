import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Permission, Role } from "../../../../gen/latchkey/v2/common_pb.ts";
import type {
  SetRolePermissionsRequestSchema,
  UpdatePermissionRequestSchema,
  UpdateRoleRequestSchema,
} from "../../../../gen/latchkey/v2/permissions_pb.ts";
import { readList } from "../../data/readInput.ts";
import { type FieldChange, keep, nullable } from "../../design/forms/fieldChange.ts";
import type { Change } from "../../design/values/Diff.tsx";

/** Name and description of a role as a form has them. */
export interface RoleDraft {
  readonly name: string;
  readonly description: FieldChange<string>;
}

/** The same of a permission, with its slug. */
export interface PermissionDraft extends RoleDraft {
  readonly slug: string;
}

/** Shown instead of a missing description. */
export const noDescription = "no description";

/** A draft that changes nothing. */
export const roleDraftOf = ({ name }: Role): RoleDraft => ({ name, description: keep });
export const permissionDraftOf = ({ name, slug }: Permission): PermissionDraft => ({ name, slug, description: keep });

const descriptionAfter = (description: string | undefined, change: FieldChange<string>): string => {
  if (change.kind === "keep") return description ?? noDescription;
  return (change.kind === "set" ? change.value : "") || noDescription;
};

const described = (stored: Role | Permission, draft: RoleDraft): readonly Change[] => [
  { field: "name", before: stored.name, after: draft.name },
  { field: "description", before: stored.description ?? noDescription, after: descriptionAfter(stored.description, draft.description) },
];

const differ = ({ before, after }: Change): boolean => before !== after;

/** Before → after of what the draft changes. */
export const roleChanges = (role: Role, draft: RoleDraft): readonly Change[] => described(role, draft).filter(differ);
export const permissionChanges = (permission: Permission, draft: PermissionDraft): readonly Change[] =>
  [...described(permission, draft), { field: "slug", before: permission.slug, after: draft.slug }].filter(differ);

const common = (stored: Role | Permission, draft: RoleDraft) => {
  const description = nullable(draft.description);
  return {
    ...(draft.name === stored.name ? {} : { name: draft.name }),
    ...(description === undefined ? {} : { description }),
  };
};

/** The calls that make these changes, and no others. */
export const roleRequest = (role: Role, draft: RoleDraft): MessageInitShape<typeof UpdateRoleRequestSchema> => ({
  role: role.id,
  ...common(role, draft),
});
export const permissionRequest = (
  permission: Permission,
  draft: PermissionDraft,
): MessageInitShape<typeof UpdatePermissionRequestSchema> => ({
  permission: permission.id,
  ...common(permission, draft),
  ...(draft.slug === permission.slug ? {} : { slug: draft.slug }),
});

/** The permissions of a role as they are typed, one a line. */
export interface GrantsDraft {
  readonly permissions: string;
}

export const grantsDraftOf = ({ permissions }: Role): GrantsDraft => ({ permissions: permissions.map(({ slug }) => slug).join("\n") });

/** Slugs that come and go. */
export const grantsChanges = (role: Role, draft: GrantsDraft): readonly Change[] => {
  const before = role.permissions.map(({ slug }) => slug);
  const after = readList(draft.permissions);
  return [
    ...before.filter((slug) => !after.includes(slug)).map((slug) => ({ field: "permissions", before: slug, after: undefined })),
    ...[...new Set(after)]
      .filter((slug) => !before.includes(slug))
      .map((slug) => ({ field: "permissions", before: undefined, after: slug })),
  ];
};

export const grantsRequest = (role: Role, draft: GrantsDraft): MessageInitShape<typeof SetRolePermissionsRequestSchema> => ({
  role: role.id,
  permissions: { values: readList(draft.permissions) },
});
