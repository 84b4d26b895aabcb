import { parsePage, textOf } from "./parsePage.ts";
import type { Document } from "./readDocuments.ts";
import type { Section } from "./search/searchIndex.ts";

/** Splits a page at its headings, for the search. */
export const sectionsOf = ({ path, title, text }: Document): readonly Section[] => {
  const { tokens, headings } = parsePage(text);
  const parts: { heading: string; slug: string; texts: string[] }[] = [{ heading: "", slug: "", texts: [] }];
  for (const token of tokens) {
    const heading = headings.get(token);
    if (heading === undefined) parts.at(-1)?.texts.push(textOf(token));
    else if (heading.depth > 1) parts.push({ heading: heading.text, slug: heading.slug, texts: [] });
  }
  return parts.map(({ texts, ...part }) => ({ path, title, ...part, text: texts.join(" ").replace(/\s+/g, " ").trim() }));
};
