import { invalidQuery } from "./checkSyntax.ts";
import type { SyntaxNode } from "./syntaxTree.ts";

const comparisons: ReadonlySet<string> = new Set([
  ...["equals", "notEquals", "less", "greater", "lessOrEquals", "greaterOrEquals"],
  ...["in", "notIn", "globalIn", "globalNotIn"],
]);

const elementsOf = ({ kind, name, children }: SyntaxNode): readonly SyntaxNode[] | undefined =>
  kind === "Function" && /^(tuple|array)$/i.test(name) ? (children[0]?.children ?? []) : undefined;

const isTime = (node: SyntaxNode | undefined): boolean => node?.kind === "Identifier" && /(^|\.)time$/.test(node.name);

/** Whether a tuple or array on one side holds a `time` that does not meet another one. */
const meetsValue = (side: SyntaxNode, other: SyntaxNode | undefined): boolean =>
  (elementsOf(side) ?? []).some((element, i) => {
    const opposite = other && elementsOf(other)?.[i];
    return isTime(element) ? !isTime(opposite) : meetsValue(element, opposite);
  });

/**
 * Refuses to compare a `time` within a tuple with a value: only comparisons of `time` itself are brought to the same
 * unit (analytics §3). With another `time`, or with a subquery, it means what it says.
 *
 * @param nodes all of the query.
 */
export const checkTimeTuples = (nodes: readonly SyntaxNode[]): void => {
  for (const { kind, name, children } of nodes) {
    const [left, right] = children[0]?.children ?? [];
    if (kind !== "Function" || !comparisons.has(name) || !left || !right) continue;
    if (left.kind === "Subquery" || right.kind === "Subquery") continue;
    if (meetsValue(left, right) || meetsValue(right, left)) {
      throw invalidQuery("A time within a tuple or array cannot be compared with a value: compare `time` on its own.");
    }
  }
};
