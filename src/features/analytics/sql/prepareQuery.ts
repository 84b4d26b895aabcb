import { ServiceError } from "../../../platform/base/errors.ts";
import { EngineError } from "../engineErrors.ts";
import { requireRetained } from "../tables/retention.ts";
import type { Dataset } from "../tables/schema.ts";
import { checkCalls } from "./checkCalls.ts";
import { checkIdentifiers } from "./checkIdentifiers.ts";
import { checkSyntax, invalidQuery } from "./checkSyntax.ts";
import { checkTimeTuples } from "./checkTimeTuples.ts";
import { allowedFunction } from "./functions.ts";
import { findScopes, type Scopes } from "./scopes.ts";
import { parseSyntaxTree, subqueryOf } from "./syntaxTree.ts";
import { findTableReferences, type TableReference, type TimeBound } from "./tableReferences.ts";
import { findTimeComparisons, type TimeComparison } from "./timeComparisons.ts";
import { plainTimeValue, readTimeValue, type TimeValue, timeValueColumns } from "./timeValues.ts";
import { applyEdits, type Edit, quoteText, type Token, tokenise } from "./tokens.ts";

const SYNTAX_ERROR = 62;
const MAX_BYTES = 16_384;
/** An integer beyond this is in milliseconds: as seconds it would lie in the year 5138. */
const LEAST_MILLISECONDS = 100_000_000_000;

/** Asks the engine for one line of text, its columns separated by tabs. */
export type Ask = (sql: string) => Promise<string>;

export interface PrepareOptions {
  readonly sql: string;
  readonly dataset: Dataset;
  /** Unix ms; what `now()` means in this query. */
  readonly now: number;
  readonly retentionDays: number;
  readonly ask: Ask;
}

/** Names that would make the output of `EXPLAIN AST` ambiguous. */
const checkNames = (tokens: readonly Token[]): void => {
  const odd = tokens.find(({ kind, text }) => kind === "quoted" && /\\|\p{Cc}|\((?:alias|children) /u.test(text));
  if (odd) throw invalidQuery("A quoted name holds characters that are not allowed.");
};

/** The one spelling of the query: no comments, no shorthand; and that it is one SELECT. */
const format = async (sql: string, ask: Ask): Promise<string> => {
  if (Buffer.byteLength(sql) > MAX_BYTES) throw invalidQuery(`The query is longer than ${MAX_BYTES} bytes.`);
  if (sql.trim() === "") throw invalidQuery("The query is empty.");
  if (/\0/.test(sql) || !sql.isWellFormed()) throw invalidQuery("The query holds characters that are not allowed.");
  const formatted = (await ask(`SELECT formatQuerySingleLine(${quoteText(sql)}) FORMAT TabSeparatedRaw`)).trim();
  const [first] = tokenise(formatted.replace(/^[\s(]+/, "").slice(0, 100));
  if (first?.kind !== "word" || !/^(SELECT|WITH)$/.test(first.text)) {
    throw new ServiceError("invalid_analytics_query_type", "Only SELECT queries can be run.");
  }
  return formatted;
};

const spellFunctions = (tokens: readonly Token[]): Edit[] =>
  tokens.flatMap(({ kind, text, start, end }, i) => {
    const opening = tokens[i + 1];
    if (kind !== "word" || opening?.text !== "(" || opening.start !== end) return [];
    const spelling = allowedFunction(text);
    return spelling === undefined || spelling === text ? [] : [{ start, end, text: spelling }];
  });

const clockFunctions = new Set(["now", "now64", "today"]);

/** Replaces now(), now64() and today(), so that a query goes by the same clock as the events it reads. */
const fixNow = (tokens: readonly Token[], now: number): Edit[] =>
  tokens.flatMap(({ kind, text, start, end }, i) => {
    const name = kind === "word" && tokens[i + 1]?.text === "(" && tokens[i + 1]?.start === end ? text : "";
    if (!clockFunctions.has(name)) return [];
    const argument = tokens[i + 2]?.text === ")" ? undefined : tokens[i + 2];
    const closing = tokens[argument ? i + 3 : i + 2];
    if (closing?.text !== ")") return [];
    const zone = argument?.kind === "text" ? `, ${argument.text}` : "";
    const seconds = Math.floor(now / 1_000);
    const fixed = {
      now: `toDateTime(${seconds}${zone})`,
      now64: `fromUnixTimestamp64Milli(${now}${zone})`,
      today: `toDate(toDateTime(${seconds}))`,
    }[name];
    return fixed === undefined ? [] : [{ start, end: closing.end, text: fixed }];
  });

const evaluate = async (expressions: readonly string[], ask: Ask): Promise<Map<string, TimeValue>> => {
  const values = new Map<string, TimeValue>();
  const distinct = [...new Set(expressions)];
  for (const expression of distinct) {
    const plain = plainTimeValue(expression);
    if (plain) values.set(expression, plain);
  }
  const others = distinct.filter((expression) => !values.has(expression));
  const askFor = async (some: readonly string[]): Promise<void> => {
    const columns = (await ask(`SELECT ${some.map(timeValueColumns).join(", ")} FORMAT TabSeparatedRaw`)).replace(/\n$/, "").split("\t");
    for (const [i, expression] of some.entries()) values.set(expression, readTimeValue(columns.slice(i * 3, i * 3 + 3)));
  };
  if (others.length === 0) return values;
  try {
    await askFor(others);
  } catch {
    // One of them cannot be evaluated: it passes (analytics §3), the others count.
    for (const each of others) await askFor([each]).catch(() => undefined);
  }
  return values;
};

/** Refuses what only a table may have, in whose place a subquery will stand. */
const checkModifiers = ({ modifiers }: Scopes): void => {
  if (modifiers.has("PREWHERE")) throw invalidQuery("PREWHERE is not allowed: write WHERE.");
  if (modifiers.has("FINAL")) throw invalidQuery("FINAL is not allowed: add rows of the same interval up with sum().");
};

/** A name that the query does not hold: nothing in it can mean what bears that name, or be meant by it. */
const freshName = (sql: string): string => {
  const text = sql.toLowerCase();
  let name = "own";
  for (let i = 0; text.includes(name); i++) name = `own${i}`;
  return name;
};

/** The name of a table before a dot, where the table has been given another one: `t.time` of `FROM t AS v`. */
const requalify = (tokens: readonly Token[], { places }: Scopes, { tables }: Dataset): Edit[] =>
  tokens.flatMap(({ text, start, end, kind }, i) => {
    const sources = places[i]?.scope.sources ?? [];
    const isQualifier =
      (kind === "word" || kind === "quoted") && tables.includes(text) && tokens[i + 1]?.text === "." && tokens[i - 1]?.text !== ".";
    if (!isQualifier || sources.some(({ name }) => name === text)) return [];
    const [source, ...others] = sources.filter(({ table }) => table === text);
    return source && others.length === 0 ? [{ start, end, text: `\`${source.name}\`` }] : [];
  });

const checkBound = ({ kind }: TimeComparison, { number, instant }: TimeValue, { now, retentionDays }: PrepareOptions): void => {
  const bound = instant ?? (number === undefined || kind !== "date" || number >= LEAST_MILLISECONDS ? number : number * 1_000);
  if (bound !== undefined) requireRetained(bound, now, retentionDays);
};

/** A value that is surely a point in time, in Unix ms. */
const instantOf = ({ kind }: TimeComparison, { number, instant }: TimeValue): number | undefined =>
  instant ?? (number !== undefined && (kind === "milliseconds" || number >= LEAST_MILLISECONDS) ? number : undefined);

/** Both sides of a comparison in the same unit: instants are compared, whatever they were written as. */
const inUnitOf = (comparison: TimeComparison, value: TimeValue): Edit[] => {
  const { start, end } = comparison.value;
  if (comparison.kind === "milliseconds" && value.instant !== undefined) return [{ start, end, text: String(value.instant) }];
  const milliseconds = instantOf(comparison, value);
  if (comparison.kind !== "date" || milliseconds === undefined) return [];
  return [{ start, end, text: `fromUnixTimestamp64Milli(${milliseconds}, 'UTC')` }];
};

/** A caller's query, checked. It cannot run as it is: its tables are named where there are none of these names. */
export interface PreparedQuery {
  /** A name that the query does not hold. */
  readonly freshName: string;
  /** The query with `write(table)`, a subquery in parentheses, in the place of each table. */
  readonly render: (write: (reference: TableReference) => string) => string;
}

/**
 * Checks a caller's query and brings it into the form in which it may run (analytics §§2, 3).
 * Fails with the contract's 400s, and with what the engine says of a text that it cannot parse.
 */
export const prepareQuery = async (options: PrepareOptions): Promise<PreparedQuery> => {
  const { sql, dataset, now, ask } = options;
  const formatted = await format(sql, ask);
  const tokens = tokenise(formatted);
  checkNames(tokens);
  // In parentheses, so that FORMAT and INTO OUTFILE are no syntax.
  const tree = await ask(`EXPLAIN AST SELECT * FROM (\n${formatted}\n) FORMAT TabSeparatedRaw`).catch((error: unknown) => {
    const isSyntax = error instanceof EngineError && error.code === SYNTAX_ERROR;
    throw isSyntax ? invalidQuery("The query must end with its last clause: FORMAT and INTO OUTFILE are not allowed.") : error;
  });
  const root = parseSyntaxTree(tree);
  const query = root && subqueryOf(root);
  if (!query) throw invalidQuery("The query cannot be understood.");
  const writtenScopes = findScopes(tokens);
  const { ctes } = writtenScopes;
  const nodes = checkSyntax(query, ctes, dataset);
  checkModifiers(writtenScopes);
  checkCalls(sql, tokens);
  checkIdentifiers(query, ctes, dataset);
  checkTimeTuples(nodes);

  const spelled = applyEdits(formatted, spellFunctions(tokens));
  const dated = applyEdits(spelled, fixNow(tokenise(spelled), now));
  const datedTokens = tokenise(dated);
  const scopes = findScopes(datedTokens);
  const comparisons = findTimeComparisons(dated, datedTokens, scopes);
  const values = await evaluate(
    comparisons.map(({ value }) => value.text),
    ask,
  );
  const edits = requalify(datedTokens, scopes, dataset);
  const bounds: TimeBound[] = [];
  for (const comparison of comparisons) {
    const value = values.get(comparison.value.text);
    if (!value) continue;
    if (comparison.isLowerBound && comparison.inWhere) checkBound(comparison, value, options);
    edits.push(...inUnitOf(comparison, value));
    const instant = instantOf(comparison, value);
    if (instant !== undefined && Number.isSafeInteger(instant) && comparison.kind !== "unknown") bounds.push({ ...comparison, instant });
  }
  const references = findTableReferences(datedTokens, scopes, dataset, bounds);
  // The engine's reading of the query and ours have to agree on what is a table, and every other name must be one that WITH
  // has given before, there or around it: the name of a CTE means nothing elsewhere, least of all within the CTE itself.
  const identifiers = nodes.filter(({ kind }) => kind === "TableIdentifier");
  const ofTables = identifiers.filter(({ name }) => dataset.tables.includes(name));
  const ofCtes = scopes.named.filter(({ token, isCte }) => isCte && !dataset.tables.includes(datedTokens[token]?.text ?? ""));
  if (ofTables.length !== references.length || identifiers.length !== ofTables.length + ofCtes.length) {
    throw invalidQuery("The query cannot be understood: a FROM must name a table, or a CTE that stands before it.");
  }
  return {
    freshName: freshName(dated),
    render: (write) =>
      applyEdits(dated, [
        ...edits,
        ...references.map((reference) => {
          const { start = 0, end = 0 } = datedTokens[reference.token] ?? {};
          return { start, end, text: `${write(reference)}${reference.hasAlias ? "" : ` AS ${reference.table}`}` };
        }),
      ]),
  };
};
