import type { Key, Role } from "../../../../gen/latchkey/v2/common_pb.ts";
import { coveringSlugs, grantPermissions } from "../../../../src/features/permissions/permissionQuery.ts";

const covers = (slug: string, asked: string): boolean => grantPermissions([slug]).has(asked);

/**
 * Whether who holds the slug belongs into the answer to "who holds `asked`?": it is that one, a wildcard that covers it, or, when
 * asked for a wildcard, one of those below it.
 */
export const isAnswer = (slug: string, asked: string): boolean => slug === asked || covers(slug, asked) || covers(asked, slug);

/**
 * The slugs to look for: `invoices.read` is also held by who holds `invoices.*` or `*`; `invoices.*` is held in part by who holds
 * `invoices.read`.
 * @param known slugs that exist; others are passed over, but for the asked one and the wildcards above it
 */
export const slugsAsked = (asked: string, known: readonly string[]): readonly string[] => [
  ...new Set([asked, ...coveringSlugs(asked), ...known.filter((slug) => isAnswer(slug, asked))]),
];

/** The text to search permissions for, so that all slugs below a wildcard are found: `invoices.*` → `invoices.`. */
export const searchText = (asked: string): string => asked.replace(/\*$/, "");

/** The roles that give an answer. */
export const rolesGiving = (roles: readonly Role[], asked: string): readonly Role[] =>
  roles.filter(({ permissions }) => permissions.some(({ slug }) => isAnswer(slug, asked)));

/** A grant of the searched permission to a key. Without roles, it is direct. */
export interface Holding {
  readonly slug: string;
  readonly roles: readonly string[];
}

/** Why a key is in the answer. */
export const holdingsOf = (key: Key, roles: readonly Role[], asked: string): readonly Holding[] =>
  key.permissions
    .filter((slug) => isAnswer(slug, asked))
    .map((slug) => ({
      slug,
      roles: roles
        .filter(({ name, permissions }) => key.roles.includes(name) && permissions.some((given) => given.slug === slug))
        .map(({ name }) => name),
    }));
