import { type Scopes, type TimeKind, timeKindIn } from "./scopes.ts";
import { isName, isSign, type Token } from "./tokens.ts";

/** A comparison of a column `time` with a value that does not depend on rows. */
export interface TimeComparison {
  readonly kind: TimeKind;
  /** It lets no earlier time pass than the value: `time >`, `>=`, `=`, or the mirror image. */
  readonly isLowerBound: boolean;
  /** It lets no later time pass. */
  readonly isUpperBound: boolean;
  /** What stands before the dot of its column. */
  readonly qualifier: string | undefined;
  /** Indexes of its first and last token, where its column stands in no parentheses. */
  readonly first: number;
  readonly last: number;
  /** Of a SELECT's WHERE. */
  readonly inWhere: boolean;
  /** The value: its text and where it stands. */
  readonly value: { readonly text: string; readonly start: number; readonly end: number };
}

const operators: ReadonlySet<string> = new Set(["=", "==", "!=", "<>", "<", "<=", ">", ">="]);
const constants: ReadonlySet<string> = new Set(["true", "false", "NULL", "inf", "nan"]);

/** The index of the parenthesis that belongs to the one at `from`. @param step 1 forwards, -1 backwards. */
const matching = (tokens: readonly Token[], from: number, step: 1 | -1): number => {
  let depth = 0;
  for (let i = from; i >= 0 && i < tokens.length; i += step) {
    if (isSign(tokens[i], "(")) depth += step;
    else if (isSign(tokens[i], ")")) depth -= step;
    if (depth === 0) return i;
  }
  return -1;
};

/** The operand that begins at `from`, as the index of its last token; -1 when it is none of a simple kind. */
const operandEnd = (tokens: readonly Token[], from: number): number => {
  const token = tokens[from];
  if (isSign(token, "-")) return operandEnd(tokens, from + 1);
  if (isSign(token, "(")) return matching(tokens, from, 1);
  if (token?.kind === "word" && isSign(tokens[from + 1], "(")) return matching(tokens, from + 1, 1);
  return token?.kind === "number" || token?.kind === "text" ? from : -1;
};

/** The operand that ends at `to`, as the index of its first token; -1 when it is none of a simple kind. */
const operandStart = (tokens: readonly Token[], to: number): number => {
  const token = tokens[to];
  let start = -1;
  if (isSign(token, ")")) {
    const opening = matching(tokens, to, -1);
    if (opening < 0) return -1;
    start = tokens[opening - 1]?.kind === "word" && tokens[opening - 1]?.end === tokens[opening]?.start ? opening - 1 : opening;
  } else if (token?.kind === "number" || token?.kind === "text") {
    start = to;
  }
  return start > 0 && isSign(tokens[start - 1], "-") && !/^(number|text|word|quoted)$/.test(tokens[start - 2]?.kind ?? "")
    ? start - 1
    : start;
};

/** Made of literals and calls only: no column, no subquery. */
const isConstant = (tokens: readonly Token[]): boolean =>
  tokens.every(({ kind, text }, i) => kind !== "quoted" && (kind !== "word" || constants.has(text) || isSign(tokens[i + 1], "(")));

/** All comparisons of `time` with a value that could be evaluated beforehand (analytics §3). */
export const findTimeComparisons = (sql: string, tokens: readonly Token[], { places }: Scopes): TimeComparison[] => {
  const isTime = (i: number): boolean => {
    const token = tokens[i];
    return isName(token) && token.text === "time" && !isSign(tokens[i + 1], "(");
  };
  /** The `time` that ends at `to`, also in parentheses of its own; -1 when there is none. */
  const timeBefore = (to: number): number => {
    let column = to;
    while (isSign(tokens[column], ")")) column--;
    let first = column;
    while (isSign(tokens[first - 1], ".")) first -= 2;
    const depth = to - column;
    const opening = tokens[first - depth];
    const isOwn = tokens.slice(first - depth, first).every((token) => isSign(token, "("));
    const isCall = depth > 0 && tokens[first - depth - 1]?.kind === "word" && tokens[first - depth - 1]?.end === opening?.start;
    return isTime(column) && isOwn && !isCall ? column : -1;
  };
  /** The `time` that begins at `from`, likewise. */
  const timeAfter = (from: number): number => {
    let column = from;
    while (isSign(tokens[column], "(")) column++;
    const depth = column - from;
    // The column may be qualified: `x.time`, `y.x.time`.
    while (isSign(tokens[column + 1], ".")) column += 2;
    const isOwn = tokens.slice(column + 1, column + 1 + depth).every((token) => isSign(token, ")"));
    return isTime(column) && isOwn ? column : -1;
  };
  const found: TimeComparison[] = [];
  const add = (column: number, first: number, last: number, operator: string): void => {
    const [from, to, place] = [tokens[first], tokens[last], places[column]];
    if (!from || !to || !place || !isConstant(tokens.slice(first, last + 1))) return;
    const qualifier = isSign(tokens[column - 1], ".") ? tokens[column - 2]?.text : undefined;
    const value = { text: sql.slice(from.start, to.end), start: from.start, end: to.end };
    const isBefore = column < first;
    const isEqual = /^==?$/.test(operator);
    const isGreater = /^>=?$/.test(operator);
    const isLess = /^<=?$/.test(operator);
    found.push({
      kind: timeKindIn(place.scope, qualifier),
      isLowerBound: isEqual || (isBefore ? isGreater : isLess),
      isUpperBound: isEqual || (isBefore ? isLess : isGreater),
      inWhere: place.inWhere,
      qualifier,
      first: isBefore ? column - (qualifier === undefined ? 0 : 2) : first,
      last: isBefore ? last : column,
      value,
    });
  };
  for (const [i, { kind, text }] of tokens.entries()) {
    if (kind !== "sign" || !operators.has(text)) continue;
    const before = timeBefore(i - 1);
    if (before >= 0) {
      const end = operandEnd(tokens, i + 1);
      if (end >= 0 && !isSign(tokens[end + 1], "[")) add(before, i + 1, end, text);
      continue;
    }
    const column = timeAfter(i + 1);
    if (column < 0) continue;
    const start = operandStart(tokens, i - 1);
    if (start >= 0) add(column, start, i - 1, text);
  }
  return found;
};
