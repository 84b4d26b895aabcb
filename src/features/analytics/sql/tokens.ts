/** A word, number, text or sign of SQL. */
export interface Token {
  readonly kind: "word" | "quoted" | "text" | "number" | "sign";
  /** As it stands; without its quotes when `quoted`. */
  readonly text: string;
  /** Offsets into the SQL. */
  readonly start: number;
  readonly end: number;
}

export const isSign = (token: Token | undefined, text: string): boolean => token?.kind === "sign" && token.text === text;
export const isName = (token: Token | undefined): token is Token => token?.kind === "word" || token?.kind === "quoted";

const pattern =
  /(?<quoted>`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*")|(?<text>'(?:[^'\\]|\\.|'')*')|(?<word>[A-Za-z_][\w$]*)|(?<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|(?<sign><=>|>=|<=|!=|<>|==|->|::|\|\||\S)/gs;

/**
 * Splits SQL as ClickHouse's formatter writes it: no comments, one spelling of every sign. White space is left out.
 */
export const tokenise = (sql: string): Token[] => {
  const tokens: Token[] = [];
  for (const match of sql.matchAll(pattern)) {
    const { quoted, text, word, number } = match.groups ?? {};
    const [whole] = match;
    const kind = quoted ? "quoted" : text ? "text" : word ? "word" : number ? "number" : "sign";
    tokens.push({ kind, text: quoted ? whole.slice(1, -1) : whole, start: match.index, end: match.index + whole.length });
  }
  return tokens;
};

const written =
  /`(?:[^`\\]|\\.|``)*`|"(?:[^"\\]|\\.|"")*"|'(?:[^'\\]|\\.|'')*'|(?<unusual>‘[^’]*’|“[^”]*”|(?<mark>\$\w*\$).*?\k<mark>)|(?<comment>--[^\n]*|#[ !][^\n]*|\/\*.*?\*\/)/gs;

/** Splits SQL as a caller wrote it, without its comments. */
export const tokeniseWritten = (sql: string): Token[] =>
  tokenise(
    sql.replace(written, (whole, ...rest) => {
      const { unusual, comment } = rest.at(-1) as { readonly unusual?: string; readonly comment?: string };
      return comment === undefined ? (unusual === undefined ? whole : "''") : " ";
    }),
  );

/** A literal that holds exactly this text. */
export const quoteText = (text: string): string => `'${text.replace(/[\\']/g, "\\$&")}'`;

/** A part of the SQL that another text takes the place of. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Edits do not overlap. */
export const applyEdits = (sql: string, edits: readonly Edit[]): string => {
  let result = "";
  let from = 0;
  for (const { start, end, text } of [...edits].sort((a, b) => a.start - b.start)) {
    result += sql.slice(from, start) + text;
    from = end;
  }
  return result + sql.slice(from);
};
