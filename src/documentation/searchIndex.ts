import { setImmediate } from "node:timers/promises";
import MiniSearch from "minisearch";
import { parsePage, textOf } from "./parsePage.ts";
import type { Document } from "./readDocuments.ts";
import { addressOf } from "./resolveLink.ts";

/** Characters of a query. */
export const mostQueryLength = 100;
/** Words of a query that count. */
const mostWords = 6;
/** Words of whole sentences that say nothing of what is searched for. */
const fillers = new Set(
  "a an and any are as at be by can do does for from get has have how i if in is it its me my of on one or over that the their them then this to we what when where which who why will with you your".split(
    " ",
  ),
);
/** With fewer sections that have all of the words, those that have some of them follow. */
const fewSections = 5;
/** Pages that are answered. */
const mostResults = 20;
/** How much a section counts by its page, so that people find what is written for them: the specification and the index come last. */
const weightOf = (path: string): number => {
  if (path === "" || path.startsWith("contract/")) return 0.3;
  return path.includes("/") ? 1 : 2;
};
/** Sections that enter the index in one turn of the event loop. */
const sectionsPerTurn = 2;

/** A page that was found, by the section of it that fits best. */
export interface SearchResult {
  /** Of the section. */
  readonly href: string;
  readonly title: string;
  /** Empty for the beginning of the page. */
  readonly heading: string;
  /** The section's words. */
  readonly text: string;
  /** The words in it that were searched for, in small letters. */
  readonly words: readonly string[];
}

/** At most `mostResults` pages for a query, best first. */
export type Search = (query: string) => readonly SearchResult[];

interface Section {
  readonly page: Document;
  readonly title: string;
  readonly heading: string;
  readonly slug: string;
  readonly text: string;
}

const sectionsOf = (page: Document): readonly Section[] => {
  const { tokens, headings } = parsePage(page.text);
  const parts: { heading: string; slug: string; texts: string[] }[] = [{ heading: "", slug: "", texts: [] }];
  for (const token of tokens) {
    const heading = headings.get(token);
    if (heading === undefined) parts.at(-1)?.texts.push(textOf(token));
    else if (heading.depth > 1) parts.push({ heading: heading.text, slug: heading.slug, texts: [] });
  }
  return parts.map(({ texts, ...part }) => ({ page, title: page.title, ...part, text: texts.join(" ").replace(/\s+/g, " ").trim() }));
};

/** Words, and the parts of those that are written `likeThis`. */
const wordsOf = (text: string): string[] =>
  text
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .flatMap((word) => {
      const parts = word.split(/(?<=\p{Ll})(?=\p{Lu})/u);
      return parts.length > 1 ? [word, ...parts] : [word];
    });

/** Reads all pages, a few sections in one turn of the event loop, and returns what finds them again. */
export const createSearchIndex = async (pages: readonly Document[]): Promise<Search> => {
  const sections: Section[] = [];
  const index = new MiniSearch<Section & { readonly id: number }>({
    fields: ["title", "heading", "text"],
    tokenize: wordsOf,
    searchOptions: {
      tokenize: (query) => {
        const words = wordsOf(query);
        const telling = words.filter((word) => !fillers.has(word.toLowerCase()));
        return (telling.length > 0 ? telling : words).slice(0, mostWords);
      },
      boost: { title: 4, heading: 2 },
      prefix: (word) => word.length > 2,
      boostDocument: (id) => weightOf(sections[id as number]?.page.path ?? ""),
    },
  });
  for (const page of pages) {
    for (const section of sectionsOf(page)) {
      if (sections.length % sectionsPerTurn === 0) await setImmediate();
      index.add({ ...section, heading: section.heading || section.title, id: sections.length });
      sections.push(section);
    }
  }

  return (query) => {
    const exact = index.search(query, { combineWith: "AND" });
    // Some of the words, or those that differ in a letter or two: dearer, and only worth it where little has them all.
    const found =
      exact.length >= fewSections ? exact : [...exact, ...index.search(query, { fuzzy: (word) => (word.length > 4 ? 0.2 : false) })];
    const results = new Map<Document, SearchResult>();
    for (const { id, match } of found) {
      const section = sections[id as number];
      if (section === undefined || results.has(section.page)) continue;
      const { page, title, heading, slug, text } = section;
      results.set(page, { href: addressOf(page.path) + (slug && `#${slug}`), title, heading, text, words: Object.keys(match) });
      if (results.size === mostResults) break;
    }
    return [...results.values()];
  };
};
