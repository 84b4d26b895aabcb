import GithubSlugger from "github-slugger";
import { lexer, type Token, type Tokens, walkTokens } from "marked";

/** The first line of a quote that GitHub shows as a note. */
export const noteLine: RegExp = /^\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|$)/;

/** A heading of a page. */
export interface Heading {
  /** 1 for the title of the page. */
  readonly depth: number;
  readonly text: string;
  /** Its anchor, the same as on GitHub. */
  readonly slug: string;
}

/** A page of Markdown, taken apart. */
export interface ParsedPage {
  readonly tokens: Token[];
  /** In the order of the page. */
  readonly headings: ReadonlyMap<Token, Heading>;
}

/** Tokens in a token: those of its text, of the items of a list, of the cells of a table. */
export const within = (token: Token): readonly Token[] => {
  if (token.type === "table") {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].flat().flatMap(({ tokens }) => [...tokens, { type: "space", raw: " " }]);
  }
  if (token.type === "list") return (token as Tokens.List).items;
  return "tokens" in token && Array.isArray(token.tokens) ? token.tokens : [];
};

const blocks: ReadonlySet<string> = new Set(["paragraph", "list", "list_item", "table", "blockquote", "heading"]);

/** The words of a token, without marks and HTML; what stands in blocks of their own is kept apart by a space. */
export const textOf = (token: Token): string => {
  const parts = within(token);
  if (parts.length > 0) return parts.map(textOf).join("") + (blocks.has(token.type) ? " " : "");
  if (token.type === "html" || token.type === "checkbox") return "";
  if (token.type === "space" || token.type === "br") return " ";
  return "text" in token && typeof token.text === "string" ? token.text.replace(noteLine, "") : "";
};

/** Takes a page apart, and gives its headings their anchors. */
export const parsePage = (markdown: string): ParsedPage => {
  const tokens = lexer(markdown);
  const slugger = new GithubSlugger();
  const headings = new Map<Token, Heading>();
  void walkTokens(tokens, (token) => {
    if (token.type !== "heading") return;
    const text = textOf(token).trim();
    headings.set(token, { depth: (token as Tokens.Heading).depth, text, slug: slugger.slug(text) });
  });
  return { tokens, headings };
};
