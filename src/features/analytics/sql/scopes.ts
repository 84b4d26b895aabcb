import { isRaw } from "../tables/schema.ts";
import { isName, type Token } from "./tokens.ts";

/** What a column `time` holds: Unix ms as in the raw tables, a date as in the aggregates, or whatever the query made of it. */
export type TimeKind = "milliseconds" | "date" | "unknown";

interface Source {
  /** Alias, else the table's name. */
  readonly name: string;
  readonly kind: TimeKind;
  /** Name of the table or CTE; empty for a subquery. */
  readonly table: string;
}

/** One SELECT with its own tables. */
export interface Scope {
  readonly sources: Source[];
  /** It calls something else `time`. */
  hidesTime: boolean;
  /** Its result has its tables' `time`. */
  passesTime: boolean;
  /** Tokens of its WHERE: the first, and the one behind the last. */
  where: { readonly from: number; to: number } | undefined;
}

/** A table or CTE that a FROM names. */
export interface NamedTable {
  /** Index of the token. */
  readonly token: number;
  readonly scope: Scope;
  readonly hasAlias: boolean;
  /** It is the name of a CTE that was defined before, by the same query or one around it. */
  readonly isCte: boolean;
}

/** Where a token stands. */
export interface Place {
  readonly scope: Scope;
  /** In its WHERE or PREWHERE. */
  readonly inWhere: boolean;
}

export interface Scopes {
  /** The place of each token. */
  readonly places: readonly Place[];
  /** Names that WITH gives to subqueries. */
  readonly ctes: ReadonlySet<string>;
  readonly named: readonly NamedTable[];
  /** What only a table may have: PREWHERE and FINAL, where they occur. */
  readonly modifiers: ReadonlySet<string>;
}

type Clause = "with" | "select" | "from" | "where" | "other";

const clauses: Readonly<Record<string, Clause>> = {
  WITH: "with",
  SELECT: "select",
  FROM: "from",
  PREWHERE: "where",
  WHERE: "where",
  GROUP: "other",
  HAVING: "other",
  WINDOW: "other",
  QUALIFY: "other",
  ORDER: "other",
  LIMIT: "other",
};

const is = (token: Token | undefined, text: string): boolean => token?.text === text && token.kind !== "quoted" && token.kind !== "text";

/** What `time` means in a scope; `qualifier` is what stands before the dot. */
export const timeKindIn = ({ sources, hidesTime }: Scope, qualifier: string | undefined): TimeKind => {
  if (qualifier !== undefined) return sources.find(({ name }) => name === qualifier)?.kind ?? "unknown";
  if (hidesTime) return "unknown";
  return sources.find(({ kind }) => kind !== "unknown")?.kind ?? "unknown";
};

const resultKind = (scope: Scope): TimeKind => (scope.passesTime && !scope.hidesTime ? timeKindIn(scope, undefined) : "unknown");

/**
 * Finds the SELECTs of a formatted query, and which table each `time` in it belongs to. Where that is not plain, the
 * kind is `unknown`: this decides how a comparison is meant, not what may be read.
 */
export const findScopes = (tokens: readonly Token[]): Scopes => {
  const places: Place[] = [];
  const ctes = new Set<string>();
  const modifiers = new Set<string>();
  const allNamed: NamedTable[] = [];

  const newScope = (): Scope => ({ sources: [], hidesTime: false, passesTime: false, where: undefined });

  /** Reads up to the parenthesis that closes the query, or the end. */
  const readQuery = (from: number, known: ReadonlyMap<string, TimeKind>): { readonly end: number; readonly kind: TimeKind } => {
    const named = new Map(known);
    let first: Scope | undefined;
    let nested: TimeKind | undefined;
    let scope = newScope();
    let clause: Clause = "other";
    let isTableExpected = false;
    /** Behind ARRAY JOIN stand expressions, not tables: no source of a `time`, but one more source of names. */
    let isArrayJoin = false;
    let i = from;

    /** After a table or subquery: its alias, else its name. */
    const addSource = (next: number, table: string, kind: TimeKind): number => {
      const alias = tokens[next + 1];
      const hasAlias = is(tokens[next], "AS") && isName(alias);
      scope.sources.push({ name: hasAlias ? alias.text : table, kind, table });
      const end = hasAlias ? next + 2 : next;
      for (let j = next; j < end; j++) places[j] = { scope, inWhere: false };
      if (is(tokens[end], "FINAL")) modifiers.add("FINAL");
      return end;
    };

    const leaveWhere = (): void => {
      if (scope.where?.to === 0) scope.where.to = i;
    };

    /** Between two SELECTs; `* EXCEPT (…)` is none. */
    const isSetOperator = (at: number): boolean => {
      if (is(tokens[at], "UNION") || is(tokens[at], "INTERSECT")) return true;
      const next = is(tokens[at + 1], "(") ? tokens[at + 2] : tokens[at + 1];
      return is(tokens[at], "EXCEPT") && /^(SELECT|WITH|ALL|DISTINCT|\()$/.test(next?.kind === "quoted" ? "" : (next?.text ?? ""));
    };

    const readParenthesis = (): number => {
      const opening = i;
      places[opening] = { scope, inWhere: clause === "where" };
      let j = opening + 1;
      if (is(tokens[j], "SELECT") || is(tokens[j], "WITH") || (clause === "other" && first === undefined) || isTableExpected) {
        const { end, kind } = readQuery(j, named);
        places[end] = { scope, inWhere: clause === "where" };
        const name = tokens[opening - 2];
        if (clause === "with" && is(tokens[opening - 1], "AS") && isName(name)) {
          named.set(name.text, kind);
          ctes.add(name.text);
        }
        if (isTableExpected) {
          isTableExpected = false;
          return addSource(end + 1, "", kind);
        }
        nested ??= kind;
        return end + 1;
      }
      while (j < tokens.length && !is(tokens[j], ")")) {
        i = j;
        j = readToken();
      }
      places[j] = { scope, inWhere: clause === "where" };
      return j + 1;
    };

    const readTable = (): number => {
      isTableExpected = false;
      const token = tokens[i] as Token;
      places[i] = { scope, inWhere: false };
      if (is(tokens[i + 1], ".") || is(tokens[i + 1], "(")) return i + 1;
      if (isArrayJoin) return addSource(i + 1, token.text, "unknown");
      const kind = named.get(token.text) ?? (isRaw(token.text) ? "milliseconds" : "date");
      allNamed.push({ token: i, scope, hasAlias: is(tokens[i + 1], "AS"), isCte: named.has(token.text) });
      return addSource(i + 1, token.text, kind);
    };

    /** One token, or a parenthesis with all that is in it. */
    const readToken = (): number => {
      const token = tokens[i] as Token;
      if (is(token, "(")) return readParenthesis();
      if (isTableExpected && isName(token)) return readTable();
      places[i] = { scope, inWhere: clause === "where" };
      const previous = tokens[i - 1];
      if (clause === "select") {
        const isWhole = is(previous, "SELECT") || is(previous, ",") || is(previous, "DISTINCT") || is(previous, ".");
        if (is(token, "*") && isWhole) scope.passesTime = true;
        if (isName(token) && token.text === "time" && !is(previous, "AS") && !is(tokens[i + 1], "(")) {
          const following = tokens[i + 1];
          if (isWhole && (is(following, ",") || is(following, "FROM") || is(following, "AS"))) scope.passesTime = true;
        }
      }
      if (isName(token) && token.text === "time" && is(previous, "AS") && tokens[i - 2]?.text !== "time") scope.hidesTime = true;
      return i + 1;
    };

    while (i < tokens.length && !is(tokens[i], ")")) {
      const token = tokens[i] as Token;
      if (isSetOperator(i)) {
        first ??= scope;
        leaveWhere();
        scope = newScope();
        clause = "other";
      }
      const next = token.kind === "word" ? clauses[token.text] : undefined;
      if (next !== undefined) {
        if (next === "select" || next === "with") first ??= scope;
        leaveWhere();
        if (next === "where") scope.where = { from: i + 1, to: 0 };
        clause = next;
        if (token.text === "PREWHERE") modifiers.add(token.text);
        isTableExpected = next === "from";
        isArrayJoin = false;
        places[i] = { scope, inWhere: false };
        i++;
        continue;
      }
      if (clause === "from" && (is(token, ",") || is(token, "JOIN"))) {
        if (is(token, "JOIN")) isArrayJoin = is(tokens[i - 1], "ARRAY");
        isTableExpected = true;
        places[i] = { scope, inWhere: false };
        i++;
        continue;
      }
      i = readToken();
    }
    leaveWhere();
    return { end: i, kind: first && first.sources.length > 0 ? resultKind(first) : (nested ?? "unknown") };
  };

  const { end } = readQuery(0, new Map());
  const last: Place = { scope: newScope(), inWhere: false };
  for (let j = 0; j < tokens.length; j++) places[j] ??= last;
  return { places: end < tokens.length ? tokens.map(() => last) : places, ctes, named: allNamed, modifiers };
};
