import { escapeHtml } from "./escapeHtml.ts";
import type { SearchResult } from "./searchIndex.ts";

/** Characters of a text that are shown, and how many of them come before the first word that was found. */
const shownLength = 220;
const shownBefore = 70;

/** The part of a text around the first of the words, as HTML in which they are marked. */
const excerptHtml = (text: string, words: readonly string[]): string => {
  const any = words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "")).filter(Boolean);
  const pattern = any.length === 0 ? undefined : new RegExp(`(?<![\\p{L}\\p{N}])(?:${any.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  const first = pattern === undefined ? 0 : Math.max(0, text.search(pattern));
  const start = first <= shownBefore ? 0 : text.indexOf(" ", first - shownBefore) + 1;
  const end = start + shownLength < text.length ? Math.max(start, text.lastIndexOf(" ", start + shownLength)) : text.length;
  const shown = text.slice(start, end).toWellFormed();
  let html = "";
  let after = 0;
  for (const { 0: word, index } of pattern === undefined ? [] : shown.matchAll(pattern)) {
    html += `${escapeHtml(shown.slice(after, index))}<mark>${escapeHtml(word)}</mark>`;
    after = index + word.length;
  }
  return `${start > 0 ? "… " : ""}${html}${escapeHtml(shown.slice(after))}${end < text.length ? " …" : ""}`;
};

/** What is shown for a query. */
export const searchHtml = (query: string, results: readonly SearchResult[]): string => {
  const count = results.length === 0 ? "No results." : `${results.length} ${results.length === 1 ? "result" : "results"}`;
  const items = results.map(
    ({ href, title, heading, text, words }) =>
      `<li><a href="${escapeHtml(href)}">${escapeHtml(heading === "" ? title : `${title}: ${heading}`)}</a><p>${excerptHtml(text, words)}</p></li>`,
  );
  return `<h1>Search results for “${escapeHtml(query)}”</h1>
<p>${count}</p>
${items.length === 0 ? "" : `<ol class="results">\n${items.join("\n")}\n</ol>`}
`;
};
