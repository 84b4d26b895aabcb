import type { Dataset } from "../tables/schema.ts";
import type { NamedTable, Scopes } from "./scopes.ts";
import type { TimeComparison } from "./timeComparisons.ts";
import { isName, isSign, type Token } from "./tokens.ts";

/** A table of the procedure that a query reads, and which of its rows the query can need at all. */
export interface TableReference {
  readonly table: string;
  /** Unix ms: no row with an earlier time passes the WHERE. */
  readonly since: number | undefined;
  /** Unix ms: no row with a later time does. */
  readonly until: number | undefined;
  /** Nor one whose column of the scope has another value. */
  readonly ids: readonly string[] | undefined;
}

/** A comparison of `time` whose value is known. */
export interface TimeBound extends TimeComparison {
  /** Unix ms. */
  readonly instant: number;
}

interface Range {
  readonly from: number;
  /** Behind the last. */
  readonly to: number;
}

const isWord = (token: Token | undefined, text: string): boolean => token?.kind === "word" && token.text === text;

/**
 * The conditions that all have to hold, of a condition as the formatter writes it: `(…) AND (…)`, each part in parentheses
 * of its own. Anything else is one condition.
 */
const conjunctsOf = (tokens: readonly Token[], { from, to }: Range): Range[] => {
  const groups: Range[] = [];
  let i = from;
  while (isSign(tokens[i], "(")) {
    const start = i + 1;
    let depth = 0;
    do {
      if (isSign(tokens[i], "(")) depth++;
      else if (isSign(tokens[i], ")")) depth--;
      i++;
    } while (depth > 0 && i < to);
    groups.push({ from: start, to: i - 1 });
    if (i >= to) return groups.flatMap((group) => conjunctsOf(tokens, group));
    if (!isWord(tokens[i], "AND")) break;
    i++;
  }
  return [{ from, to }];
};

/** What a text literal says; undefined where that takes more than its quotes to know. */
const plainText = (token: Token | undefined): string | undefined =>
  token?.kind === "text" && /^'[^'\\]*'$/.test(token.text) ? token.text.slice(1, -1) : undefined;

/** The values of `= 'a'` or `IN ('a', 'b')`, which stand behind a column; undefined for anything else. */
const valuesOf = ([operator, ...operand]: readonly Token[]): string[] | undefined => {
  const isList = isWord(operator, "IN") && isSign(operand[0], "(") && isSign(operand.at(-1), ")");
  if (!isList && !(isSign(operator, "=") && operand.length === 1)) return undefined;
  const values = (isList ? operand.slice(1, -1).filter((token) => !isSign(token, ",")) : operand).map(plainText);
  return values.every((value) => value !== undefined) ? values : undefined;
};

/**
 * The tables of the procedure that a formatted query reads, in the order of its text. Bounds are told only where they
 * surely hold: of a SELECT that reads nothing else, by conditions that stand in its WHERE as such.
 */
export const findTableReferences = (
  tokens: readonly Token[],
  { named }: Scopes,
  { tables, scopeColumn }: Dataset,
  bounds: readonly TimeBound[],
): (TableReference & NamedTable)[] => {
  /** What else a name may mean than a column. */
  const aliases = new Set(tokens.filter((token, i) => isName(token) && isWord(tokens[i - 1], "AS")).map(({ text }) => text));

  const conditionsOf = ({ token, scope, hasAlias }: NamedTable): Range[] => {
    const renamesColumns = isSign(tokens[hasAlias ? token + 3 : token + 1], "(");
    return scope.where && scope.sources.length === 1 && !renamesColumns ? conjunctsOf(tokens, scope.where) : [];
  };

  const boundsOf = (reference: NamedTable): Omit<TableReference, "table"> => {
    const name = reference.scope.sources[0]?.name;
    const conditions = conditionsOf(reference);
    const times = aliases.has("time")
      ? []
      : bounds.filter(
          ({ first, last, qualifier }) =>
            (qualifier === undefined || qualifier === name) && conditions.some(({ from, to }) => from === first && to === last + 1),
        );
    const lists = conditions.flatMap(({ from, to }) => {
      const isQualified = tokens[from]?.text === name && isSign(tokens[from + 1], ".");
      const column = isQualified ? from + 2 : from;
      const isScope = isName(tokens[column]) && tokens[column]?.text === scopeColumn && !aliases.has(scopeColumn);
      const values = isScope ? valuesOf(tokens.slice(column + 1, to)) : undefined;
      return values === undefined ? [] : [values];
    });
    return {
      since: times.reduce<number | undefined>(
        (s, { isLowerBound, instant }) => (isLowerBound ? Math.max(s ?? instant, instant) : s),
        undefined,
      ),
      until: times.reduce<number | undefined>(
        (u, { isUpperBound, instant }) => (isUpperBound ? Math.min(u ?? instant, instant) : u),
        undefined,
      ),
      ids: lists.length === 0 ? undefined : lists.reduce((some, list) => some.filter((id) => list.includes(id))),
    };
  };

  return named
    .filter(({ token }) => tables.includes(tokens[token]?.text ?? ""))
    .map((each) => ({ ...each, ...boundsOf(each), table: tokens[each.token]?.text ?? "" }));
};
