import { ServiceError } from "../../../platform/base/errors.ts";
import { allTables, type Dataset } from "../tables/schema.ts";
import { allowedFunction } from "./functions.ts";
import type { SyntaxNode } from "./syntaxTree.ts";

const MAX_NODES = 2_000;
const MAX_COLUMNS = 64;

/** Nodes that a query may consist of. What is not here is refused, also when a later engine brings it. */
const knownKinds: ReadonlySet<string> = new Set([
  ...["SelectWithUnionQuery", "SelectIntersectExceptQuery", "SelectQuery", "ExpressionList", "Subquery", "WithElement"],
  ...["Identifier", "TableIdentifier", "Function", "Literal", "Asterisk", "QualifiedAsterisk"],
  ...["ColumnsTransformerList", "ColumnsExceptTransformer", "ColumnsReplaceTransformer", "ColumnsReplaceTransformer::Replacement"],
  ...["TablesInSelectQuery", "TablesInSelectQueryElement", "TableExpression", "TableJoin", "ArrayJoin"],
  ...["OrderByElement", "InterpolateElement", "WindowDefinition", "WindowListElement"],
]);

const inOperators: ReadonlySet<string> = new Set(["in", "notIn", "globalIn", "globalNotIn"]);

/** A 400 `invalid_analytics_query`. */
export const invalidQuery = (detail: string): ServiceError => new ServiceError("invalid_analytics_query", detail);

const invalidTable = (name: string): ServiceError =>
  new ServiceError("invalid_analytics_table", `The table ${name} cannot be queried here.`);

/** A 400 `invalid_analytics_function`. */
export const invalidFunction = (name: string): ServiceError =>
  new ServiceError("invalid_analytics_function", `The function ${name} is not allowed.`);

/** Width of the select list: the last list of expressions before the tables. */
const columnsOf = (select: SyntaxNode): number => {
  const tables = select.children.findIndex(({ kind }) => kind === "TablesInSelectQuery");
  const lists = select.children.slice(0, tables < 0 ? undefined : tables).filter(({ kind }) => kind === "ExpressionList");
  return lists.at(-1)?.children.length ?? 0;
};

const checkSelect = (select: SyntaxNode): void => {
  if (select.children.some(({ kind }) => kind === "Set")) throw invalidQuery("A SETTINGS clause is not allowed.");
  const tables = select.children.find(({ kind }) => kind === "TablesInSelectQuery");
  // ARRAY JOIN alone is an element without a table.
  if (!tables?.children.some((element) => element.children.some(({ kind }) => kind === "TableExpression"))) {
    throw invalidQuery("Every SELECT needs a FROM.");
  }
};

const checkIn = ({ name, children }: SyntaxNode): void => {
  const right = children[0]?.children[1];
  const isList =
    right?.kind === "Literal" || right?.kind === "Subquery" || (right?.kind === "Function" && /^(tuple|array)$/.test(right.name));
  if (!isList) throw invalidQuery(`${/not/i.test(name) ? "NOT IN" : "IN"} needs a list of values or a subquery on its right.`);
};

/** A lambda with a name would be called wherever a function of that name is: also where we write `=` or `IN`. */
const checkLambdas = (nodes: readonly SyntaxNode[]): void => {
  const placed = new Set(
    nodes.flatMap(({ kind, name, children }) =>
      kind === "Function" && allowedFunction(name) === "arrayFilter" ? (children[0]?.children ?? []) : [],
    ),
  );
  for (const node of nodes) {
    if (node.kind !== "Function" || node.name !== "lambda") continue;
    if (node.alias !== undefined || !placed.has(node))
      throw invalidQuery("A lambda can stand only in a call of arrayFilter, without a name.");
  }
};

/**
 * Refuses what a query must not contain (analytics §2): by nodes, tables and functions, at any depth.
 *
 * @param ctes names that the query gives to subqueries with WITH.
 * @returns all nodes.
 */
export const checkSyntax = (root: SyntaxNode, ctes: ReadonlySet<string>, { tables }: Dataset): SyntaxNode[] => {
  for (const name of ctes) {
    // The tree shows `a.b` for a quoted name with a dot as for a table of another database.
    if (!/^\w{1,64}$/.test(name)) throw invalidQuery("The name of a CTE consists of at most 64 letters, digits and underscores.");
    if (allTables.has(name)) throw new ServiceError("invalid_analytics_table", `A CTE must not be named like the table ${name}.`);
  }
  const nodes: SyntaxNode[] = [];
  const collect = (node: SyntaxNode): void => {
    nodes.push(node);
    for (const child of node.children) collect(child);
  };
  collect(root);
  if (nodes.length > MAX_NODES) throw invalidQuery(`The query has more than ${MAX_NODES} syntax nodes.`);

  for (const { kind, children } of nodes) {
    const called = kind === "TableExpression" ? children.find((child) => child.kind === "Function") : undefined;
    if (called) throw invalidFunction(called.name);
  }
  let columns = 0;
  for (const node of nodes) {
    if (node.kind === "Set") throw invalidQuery("A SETTINGS clause is not allowed.");
    if (node.kind === "SelectQuery") {
      checkSelect(node);
      columns += columnsOf(node);
    }
    if (node.kind === "Function" && inOperators.has(node.name)) checkIn(node);
  }
  if (columns > MAX_COLUMNS) throw invalidQuery(`The query selects more than ${MAX_COLUMNS} columns.`);
  for (const { kind, name } of nodes) {
    if (kind === "TableIdentifier" && !tables.includes(name) && !ctes.has(name)) throw invalidTable(name);
  }
  for (const { kind, name } of nodes) {
    if (kind === "Function" && allowedFunction(name) === undefined) throw invalidFunction(name);
  }
  checkLambdas(nodes);
  for (const { kind } of nodes) {
    if (!knownKinds.has(kind)) throw invalidQuery(`The query uses syntax that is not supported here (${kind}).`);
  }
  return nodes;
};
