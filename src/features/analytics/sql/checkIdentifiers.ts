import { columnsOf, type Dataset } from "../tables/schema.ts";
import { invalidQuery } from "./checkSyntax.ts";
import type { SyntaxNode } from "./syntaxTree.ts";

/** Functions that the engine calls by their bare name, in lower case, where nothing else has that name. */
const niladic: ReadonlySet<string> = new Set([
  ...["current_user", "currentuser", "user", "session_user", "system_user", "authenticateduser", "authuser", "current_role"],
  ...["current_database", "currentdatabase", "database", "schema", "current_schema", "current_catalog", "catalog"],
  ...["current_date", "curdate", "current_time", "current_timestamp", "localtime", "localtimestamp", "now", "now64", "today"],
  ...["utc_timestamp", "version", "hostname", "connection_id"],
]);

interface Names {
  readonly columns: ReadonlySet<string>;
  /** Of tables, subqueries and CTEs: what may stand before a dot. */
  readonly sources: ReadonlySet<string>;
  /** Aliases of expressions. */
  readonly aliases: ReadonlySet<string>;
  /** Parameters of lambdas. */
  readonly parameters: ReadonlySet<string>;
}

const parametersOf = (lambda: SyntaxNode): string[] =>
  (lambda.children[0]?.children[0]?.children[0]?.children ?? []).filter(({ kind }) => kind === "Identifier").map(({ name }) => name);

const namesIn = (root: SyntaxNode, ctes: ReadonlySet<string>, dataset: Dataset): Names => {
  const sources = new Set([...dataset.tables, ...ctes]);
  const [aliases, parameters] = [new Set<string>(), new Set<string>()];
  const collect = (node: SyntaxNode, parent: SyntaxNode | undefined): void => {
    if (node.alias !== undefined) (parent?.kind === "TableExpression" ? sources : aliases).add(node.alias);
    // FROM … AS t(a, b)
    if (parent?.kind === "TableExpression" && node.kind === "ExpressionList") for (const { name } of node.children) aliases.add(name);
    if (node.kind === "Function" && node.name === "lambda") for (const name of parametersOf(node)) parameters.add(name);
    for (const child of node.children) collect(child, node);
  };
  collect(root, undefined);
  return { columns: columnsOf(dataset), sources, aliases, parameters };
};

/** @param bound aliases that surely are what a bare name means here. */
const isKnown = (name: string, { columns, sources, aliases, parameters }: Names, bound: ReadonlySet<string>): boolean => {
  const parts = name.split(".");
  // Virtual columns.
  if (parts.some((part) => part.startsWith("_"))) return false;
  const isValue = (part: string): boolean => columns.has(part) || aliases.has(part) || parameters.has(part);
  const last = parts.at(-1) ?? "";
  const before = parts.slice(0, -1);
  if (before.length === 0) return niladic.has(last.toLowerCase()) && !columns.has(last) ? bound.has(last) : isValue(last);
  if (columns.has(last) && before.every((part) => sources.has(part))) return true;
  // What stands before the dot is no value: else this could be a subcolumn that an alias shares its name with.
  if (before.some(isValue)) return false;
  return (
    (aliases.has(last) && before.every((part) => sources.has(part))) || (aliases.has(name) && !before.some((part) => sources.has(part)))
  );
};

const nothing: ReadonlySet<string> = new Set();

/** Aliases of the select list itself, by which the clauses behind the tables may go. */
const listed = (select: SyntaxNode, tables: number): ReadonlySet<string> =>
  new Set(select.children[tables - 1]?.children.flatMap(({ alias }) => alias ?? []));

/**
 * Refuses every name that is no column of the procedure's tables and that the query did not define: the engine would
 * also answer functions without parentheses, virtual columns and subcolumns (analytics §§2, 4).
 *
 * @param ctes names that the query gives to subqueries with WITH.
 */
export const checkIdentifiers = (root: SyntaxNode, ctes: ReadonlySet<string>, dataset: Dataset): void => {
  const names = namesIn(root, ctes, dataset);
  const check = (node: SyntaxNode, parent: SyntaxNode | undefined, bound: ReadonlySet<string>): void => {
    const { kind, name, children } = node;
    if (kind === "Identifier") {
      const isTable = parent?.kind === "QualifiedAsterisk";
      // ORDER BY ALL
      const isAll = parent?.kind === "OrderByElement" && name === "all";
      const known = isTable ? names.sources.has(name) : isAll || isKnown(name, names, bound);
      if (!known) throw invalidQuery(`Unknown column ${name}${isTable ? ".*" : ""}.`);
    }
    const tables = kind === "SelectQuery" ? children.findIndex((child) => child.kind === "TablesInSelectQuery") : -1;
    for (const [i, child] of children.entries()) {
      const inner = kind === "SelectQuery" ? (i > tables ? listed(node, tables) : nothing) : bound;
      check(child, node, inner);
    }
  };
  check(root, undefined, nothing);
};
