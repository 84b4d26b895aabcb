import { lexer, Parser, Renderer, type Tokens } from "marked";
import { escapeHtml } from "../../../src/platform/util/escapeHtml.ts";
import { noteLine, type ParsedPage, textOf } from "./parsePage.ts";
import type { Documents } from "./readDocuments.ts";
import { resolveLink, resolvePicture } from "./resolveLink.ts";

/** Text of Markdown as HTML. Unlike other text it may hold character references, such as `&nbsp;`. */
const escapeMarkdownText = (text: string): string =>
  text.replace(/&(?!(?:#\d{1,7}|#[Xx][\da-fA-F]{1,6}|\w{1,32});)|[<>"']/g, (character) => escapeHtml(character));

const attribute = (name: string, value: string | null | undefined): string => (value ? ` ${name}="${escapeHtml(value)}"` : "");

/** The text of a link that leads nowhere here, such as one to a source file, with the path that it has in the repository. */
const unserved = (href: string, html: string): string => `<span class="unserved"${attribute("title", href)}>${html}</span>`;

/**
 * A page as HTML. Links between pages lead to where they are served, headings have the anchors that they have on GitHub, and
 * HTML in Markdown is text, but for comments, which are left out, and `<br>`.
 *
 * @param file of the page, below the directory of the documentation.
 */
export const renderMarkdown = ({ tokens, headings }: ParsedPage, file: string, documents: Documents): string => {
  const renderer = new Renderer();
  const parser = new Parser({ renderer });
  renderer.parser = parser;
  const inline = (inner: Tokens.Heading["tokens"]): string => parser.parseInline(inner);

  renderer.html = ({ text }: Tokens.HTML | Tokens.Tag): string => {
    if (/^\s*<!--.*-->\s*$/s.test(text)) return "";
    return /^<br\s*\/?>$/i.test(text) ? "<br>" : escapeHtml(text);
  };
  renderer.text = (token: Tokens.Text | Tokens.Escape): string =>
    "tokens" in token && token.tokens ? inline(token.tokens) : escapeMarkdownText(token.text);
  renderer.heading = (token: Tokens.Heading): string => {
    const { depth, slug } = headings.get(token) ?? { depth: token.depth, slug: "" };
    const html = inline(token.tokens);
    const isPlain = depth > 1 && !html.includes("<a ");
    return `<h${depth}${attribute("id", slug)}>${isPlain ? `<a href="#${escapeHtml(slug)}">${html}</a>` : html}</h${depth}>\n`;
  };
  renderer.link = ({ href, title, tokens: inner }: Tokens.Link): string => {
    const address = resolveLink(documents, file, href);
    const html = inline(inner);
    return address === undefined
      ? unserved(href, html)
      : `<a${attribute("href", address)}${attribute("title", title)}${/^https?:/i.test(address) ? ' rel="noreferrer"' : ""}>${html}</a>`;
  };
  renderer.image = ({ href, title, text }: Tokens.Image): string => {
    const address = resolvePicture(documents, file, href);
    return address === undefined
      ? unserved(href, escapeMarkdownText(text))
      : `<img src="${escapeHtml(address)}" alt="${escapeHtml(text)}"${attribute("title", title)} loading="lazy">`;
  };
  // What is scrolled sideways has to take the focus, or the keyboard does not reach it.
  renderer.code = ({ text, lang }: Tokens.Code): string =>
    `<pre tabindex="0"${attribute("class", lang ? "source" : undefined)}><code>${escapeHtml(text)}\n</code></pre>\n`;
  renderer.table = ({ header, rows }: Tokens.Table): string => {
    const row = (cells: readonly Tokens.TableCell[]): string =>
      `<tr>${cells
        .map(({ tokens: inner, header: isHeader, align }) => {
          const tag = isHeader && inner.length > 0 ? "th" : "td";
          const aligned = attribute("class", align && `to-${align}`);
          return `<${tag}${tag === "th" ? ' scope="col"' : ""}${aligned}>${inline(inner)}</${tag}>`;
        })
        .join("")}</tr>\n`;
    const named = header
      .map((cell) => cell.tokens.map(textOf).join(""))
      .filter(Boolean)
      .join(", ");
    return `<div class="table" role="group" tabindex="0" aria-label="${escapeHtml(`Table: ${named}`)}"><table>
<thead>${row(header)}</thead>
<tbody>${rows.map(row).join("")}</tbody></table></div>\n`;
  };
  renderer.checkbox = ({ checked }: Tokens.Checkbox): string => (checked ? "☑ " : "☐ ");
  renderer.blockquote = ({ text, tokens: inner }: Tokens.Blockquote): string => {
    const [line, kind] = noteLine.exec(text) ?? [];
    if (line === undefined || kind === undefined) return `<blockquote>\n${parser.parse(inner)}</blockquote>\n`;
    const name = `${kind.charAt(0)}${kind.slice(1).toLowerCase()}`;
    return `<div class="note ${kind.toLowerCase()}" role="note"><p><strong>${name}</strong></p>\n${parser.parse(lexer(text.slice(line.length)))}</div>\n`;
  };
  return parser.parse(tokens);
};
