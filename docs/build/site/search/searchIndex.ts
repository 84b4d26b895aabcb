import MiniSearch from "minisearch";

/** Words of a query that count. */
const mostWords = 6;
/** Words of whole sentences that say nothing about what is searched for. */
const fillers = new Set(
  "a an and any are as at be by can do does for from get has have how i if in is it its me my of on one or over that the their them then this to we what when where which who why will with you your".split(
    " ",
  ),
);
/** With fewer sections that have all of the words, those that have some of them follow. */
const fewSections = 5;
/** Pages among the results. */
const mostResults = 20;
/** How much a section counts by its page: guides first, then the reference, then the index. */
const weightOf = (path: string): number => {
  if (path === "") return 0.3;
  return path.includes("/") ? 1 : 2;
};
/** Sections that enter the index before the page may react to its reader again. */
const chunkSize = 50;

/** A part of a page under one heading. */
export interface Section {
  /** Path of the page below `/docs`, as in a URL; empty for the index. */
  readonly path: string;
  /** Title of the page. */
  readonly title: string;
  /** Empty for the beginning of the page. */
  readonly heading: string;
  /** Anchor of the heading; empty for the beginning of the page. */
  readonly slug: string;
  /** The section's words. */
  readonly text: string;
}

/** A page that was found, by its best section. */
export interface SearchResult {
  readonly section: Section;
  /** The words in it that match the query, in lower case. */
  readonly words: readonly string[];
}

/** Words, and the parts of those that are written `likeThis`. */
const wordsOf = (text: string): string[] =>
  text
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
    .flatMap((word) => {
      const parts = word.split(/(?<=\p{Ll})(?=\p{Lu})/u);
      return parts.length > 1 ? [word, ...parts] : [word];
    });

/** Indexes sections and returns the search over them, which finds at most 20 pages for a query, best first. */
export const createSearch = async (sections: readonly Section[]): Promise<(query: string) => readonly SearchResult[]> => {
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
      boostDocument: (id) => weightOf(sections[id as number]?.path ?? ""),
    },
  });
  const indexed = sections.map((section, id) => ({ ...section, heading: section.heading || section.title, id }));
  await index.addAllAsync(indexed, { chunkSize });

  return (query) => {
    const exact = index.search(query, { combineWith: "AND" });
    // Words that match in part, or with a letter or two wrong, cost more: they are worth it only when few sections have all words.
    const found =
      exact.length >= fewSections ? exact : [...exact, ...index.search(query, { fuzzy: (word) => (word.length > 4 ? 0.2 : false) })];
    const results = new Map<string, SearchResult>();
    for (const { id, match } of found) {
      const section = sections[id as number];
      if (section === undefined || results.has(section.path)) continue;
      results.set(section.path, { section, words: Object.keys(match) });
      if (results.size === mostResults) break;
    }
    return [...results.values()];
  };
};
