import { ServiceError } from "../../platform/base/errors.ts";

/** A parsed permission query (verify §4). A text is the slug that must be granted. */
export type PermissionQuery = string | { readonly operator: "and" | "or"; readonly operands: readonly PermissionQuery[] };

interface Token {
  readonly kind: "permission" | "and" | "or" | "(" | ")" | "end";
  readonly text: string;
  readonly position: number;
}

const isWhitespace = (character: string): boolean => character === " " || character === "\t" || character === "\n" || character === "\r";

const isPermissionCharacter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) || // a-z
  (code >= 0x41 && code <= 0x5a) || // A-Z
  (code >= 0x2d && code <= 0x3a) || // - . / 0-9 :
  code === 0x5f || // _
  code === 0x2a; // *

const syntaxError = (message: string, position: number): ServiceError => {
  const detail = `The permission query is malformed: ${message} at position ${position}.`;
  return new ServiceError("permissions_query_syntax_error", detail, {
    violations: [
      { location: "body.permissions", message: detail, fix: "Write permissions joined by AND and OR, with balanced parentheses." },
    ],
  });
};

const wordKind = (word: string): "and" | "or" | "permission" => {
  const lower = word.length <= 3 ? word.toLowerCase() : "";
  return lower === "and" || lower === "or" ? lower : "permission";
};

const tokenize = (query: string): Token[] => {
  const tokens: Token[] = [];
  let position = 0;
  while (position < query.length) {
    const character = query[position] as string;
    if (isWhitespace(character)) {
      position++;
      continue;
    }
    if (character === "(" || character === ")") {
      tokens.push({ kind: character, text: character, position });
      position++;
      continue;
    }
    let end = position;
    while (end < query.length && isPermissionCharacter(query.charCodeAt(end))) end++;
    if (end === position) throw syntaxError("unexpected character", position);
    const text = query.slice(position, end);
    tokens.push({ kind: wordKind(text), text, position });
    position = end;
  }
  tokens.push({ kind: "end", text: "", position: query.length });
  return tokens;
};

const describe = (token: Token): string => (token.kind === "end" ? "unexpected end" : `unexpected '${token.text}'`);

/**
 * Parses `a AND (b OR c)`: OR binds weaker than AND, operators in any letter case, ASCII only. The query has at most
 * 1,000 characters (the field rule sees to that), which bounds the recursion.
 * Throws 400 `permissions_query_syntax_error` with a 0-based position.
 */
export const parsePermissionQuery = (query: string): PermissionQuery => {
  const tokens = tokenize(query);
  let next = 0;
  const peek = (): Token => tokens[next] as Token;

  const primary = (): PermissionQuery => {
    const token = peek();
    next++;
    if (token.kind === "permission") return token.text;
    if (token.kind !== "(") throw syntaxError(`${describe(token)}, expected a permission or '('`, token.position);
    const inner = sequence("or");
    const closing = peek();
    if (closing.kind !== ")") throw syntaxError(`${describe(closing)}, expected ')'`, closing.position);
    next++;
    return inner;
  };

  const sequence = (operator: "and" | "or"): PermissionQuery => {
    const operand = operator === "or" ? () => sequence("and") : primary;
    const operands = [operand()];
    while (peek().kind === operator) {
      next++;
      operands.push(operand());
    }
    return operands.length === 1 ? (operands[0] as PermissionQuery) : { operator, operands };
  };

  const parsed = sequence("or");
  const rest = peek();
  if (rest.kind !== "end") throw syntaxError(`${describe(rest)}, expected AND, OR or the end`, rest.position);
  return parsed;
};

/** The permissions that a key holds, prepared for queries. */
export interface GrantedPermissions {
  /** Slugs as granted, each once, sorted. */
  readonly slugs: readonly string[];
  readonly has: (permission: string) => boolean;
}

/**
 * A granted slug covers itself; one that ends in `.*` or `:*` also covers whatever starts with the text before the
 * `*` and has at least one more character; a bare `*` covers everything. A `*` elsewhere is literal.
 */
export const grantPermissions = (granted: Iterable<string>): GrantedPermissions => {
  const exact = new Set(granted);
  const slugs = [...exact].sort();
  const all = exact.has("*");
  const stems = slugs.filter((slug) => slug.endsWith(".*") || slug.endsWith(":*")).map((slug) => slug.slice(0, -1));
  const has = (permission: string): boolean =>
    all || exact.has(permission) || stems.some((stem) => permission.length > stem.length && permission.startsWith(stem));
  return { slugs, has };
};

export const satisfies = (granted: GrantedPermissions, query: PermissionQuery): boolean => {
  if (typeof query === "string") return granted.has(query);
  // AND is decided by the first that is not satisfied, OR by the first that is. A loop, which allocates nothing: warm calls come here.
  const decisive = query.operator === "or";
  for (const operand of query.operands) if (satisfies(granted, operand) === decisive) return decisive;
  return !decisive;
};

/** Every slug that is enough to satisfy the term: itself, and the wildcards that cover it, the widest last. */
export const coveringSlugs = (permission: string): readonly string[] => {
  const slugs = new Set([permission]);
  for (let end = permission.length - 1; end > 0; end--) {
    const separator = permission[end - 1];
    if (separator === "." || separator === ":") slugs.add(`${permission.slice(0, end)}*`);
  }
  return [...slugs.add("*")];
};

/** The terms of a query, each once, in their order. */
export const termsOf = (query: PermissionQuery): readonly string[] =>
  typeof query === "string" ? [query] : [...new Set(query.operands.flatMap(termsOf))];

/**
 * A few further slugs with which the query is satisfied: of alternatives those that need fewest. Undefined when that takes
 * one that cannot be granted.
 */
export const lackingGrants = (
  granted: GrantedPermissions,
  query: PermissionQuery,
  canGrant: (slug: string) => boolean,
): readonly string[] | undefined => {
  if (typeof query === "string") {
    if (granted.has(query)) return [];
    return canGrant(query) ? [query] : undefined;
  }
  const each = query.operands.map((operand) => lackingGrants(granted, operand, canGrant));
  const possible = each.filter((slugs) => slugs !== undefined);
  if (query.operator === "and") return possible.length < each.length ? undefined : [...new Set(possible.flat())];
  return possible.sort((a, b) => a.length - b.length)[0];
};
