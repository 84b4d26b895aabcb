/** A node of what `EXPLAIN AST` prints. */
export interface SyntaxNode {
  /** `Function`, `TableIdentifier`, `SelectQuery`, … */
  readonly kind: string;
  /** What stands behind the kind: the name of a function or table, a literal. */
  readonly name: string;
  readonly alias: string | undefined;
  readonly children: SyntaxNode[];
}

const line = /^( *)([A-Za-z:]+) ?(.*)$/;
/** The last one: a literal may hold the same words. */
const aliasOf = / \(alias ((?:(?! \(alias ).)*)\)$/;

/** Reads the output of `EXPLAIN AST`: a node a line, one blank of indentation a level. Undefined when it is not that. */
export const parseSyntaxTree = (text: string): SyntaxNode | undefined => {
  const path: SyntaxNode[] = [];
  let root: SyntaxNode | undefined;
  for (const each of text.split("\n")) {
    if (each.trim() === "") continue;
    const [, indent = "", kind = "", rest = ""] = line.exec(each) ?? [];
    const depth = indent.length;
    if (kind === "" || depth > path.length) return undefined;
    const named = rest.replace(/ ?\(children \d+\)$/, "");
    const name = named.replace(/ ?\(alias .*\)$/, "");
    const node: SyntaxNode = { kind, name, alias: aliasOf.exec(` ${named}`)?.[1], children: [] };
    if (depth === 0) {
      if (root) return undefined;
      root = node;
    } else {
      path[depth - 1]?.children.push(node);
    }
    path.length = depth;
    path.push(node);
  }
  return root;
};

/** What stands in the parentheses of `SELECT * FROM (…)`. */
export const subqueryOf = (root: SyntaxNode): SyntaxNode | undefined => {
  let node: SyntaxNode | undefined = root;
  for (const kind of [
    "ExpressionList",
    "SelectQuery",
    "TablesInSelectQuery",
    "TablesInSelectQueryElement",
    "TableExpression",
    "Subquery",
  ]) {
    node = node?.children.find((child) => child.kind === kind);
  }
  return node?.children[0];
};
