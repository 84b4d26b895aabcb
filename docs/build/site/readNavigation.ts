import type { Token, Tokens } from "marked";
import { addressOf } from "./addressOf.ts";
import { parsePage, textOf, within } from "./parsePage.ts";
import type { Document, Documents } from "./readDocuments.ts";
import { resolveLink } from "./resolveLink.ts";

/** Pages that the index names under one heading. */
export interface NavigationGroup {
  /** Empty for what comes before the first heading. */
  readonly title: string;
  readonly links: readonly NavigationLink[];
}

interface NavigationLink {
  readonly title: string;
  /** Of the page, below `/docs`. */
  readonly path: string;
}

const linksIn = (token: Token): readonly Tokens.Link[] => (token.type === "link" ? [token as Tokens.Link] : within(token).flatMap(linksIn));

/**
 * The links to other pages that the index of the documentation has, each once, under its headings. The index is `README.md`; without
 * one there are none.
 */
export const readNavigation = (documents: Documents): readonly NavigationGroup[] => {
  const index: Document | undefined = documents.pages.get("");
  if (index === undefined) return [];
  const byAddress = new Map([...documents.pages.keys()].map((path) => [addressOf(path), path]));
  const seen = new Set<string>([""]);
  const { tokens, headings } = parsePage(index.text);
  const groups: { title: string; links: NavigationLink[] }[] = [{ title: "", links: [] }];
  for (const token of tokens) {
    const heading = headings.get(token);
    if (heading !== undefined && heading.depth > 1) groups.push({ title: heading.text, links: [] });
    for (const link of linksIn(token)) {
      const path = byAddress.get((resolveLink(documents, index.file, link.href) ?? "").replace(/#.*$/, ""));
      if (path === undefined || seen.has(path)) continue;
      seen.add(path);
      groups.at(-1)?.links.push({ title: textOf(link).trim(), path });
    }
  }
  return groups.filter(({ links }) => links.length > 0);
};
