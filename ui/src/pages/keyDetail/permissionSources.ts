import { type ExplainData, type ExplainedGrant, GrantVia, VerificationCheck } from "../../../../gen/latchkey/v2/keys_pb.ts";

/** The sources of each permission of a key. */
export type PermissionSources = ReadonlyMap<string, readonly ExplainedGrant[]>;

/** The length of a permission query (verify §4). */
const longest = 1000;

/** A permission of this name would be an operator in a query. */
const isOperator = (slug: string): boolean => /^(?:and|or)$/i.test(slug);

/** Queries that ask about every permission of a key, as few as hold them. */
export const permissionQueries = (slugs: readonly string[]): readonly string[] => {
  const queries: string[] = [];
  for (const slug of slugs.filter((each) => !isOperator(each))) {
    const last = queries.at(-1);
    if (last !== undefined && last.length + slug.length + 4 <= longest) queries[queries.length - 1] = `${last} OR ${slug}`;
    else queries.push(slug);
  }
  return queries;
};

/** Collects the sources from answers of `keys.explain`. */
export const sourcesOf = (answers: readonly ExplainData[]): PermissionSources =>
  new Map(
    answers
      .flatMap(({ steps }) => steps.filter(({ check }) => check === VerificationCheck.PERMISSIONS))
      .flatMap(({ facts }) => facts?.permissions ?? [])
      .map(({ permission, grantedBy }) => [permission, grantedBy]),
  );

/** The permissions that the key itself has. One whose source is not known counts as its own, so that no update takes it away. */
export const directPermissions = (slugs: readonly string[], sources: PermissionSources): readonly string[] =>
  slugs.filter((slug) => sources.get(slug)?.some((grant) => grant.via === GrantVia.KEY && grant.slug === slug) ?? true);
