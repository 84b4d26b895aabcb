import { escapeHtml } from "../../../src/platform/util/escapeHtml.ts";
import { addressOf } from "./addressOf.ts";
import type { Heading } from "./parsePage.ts";
import type { NavigationGroup } from "./readNavigation.ts";

/** What is alike on all pages. */
export interface Frame {
  /** Addresses of the stylesheet and of the icon. */
  readonly stylesheet: string;
  readonly icon: string;
  /** Of the service. */
  readonly version: string;
  readonly navigation: readonly NavigationGroup[];
  /** Titles of pages, by their paths. */
  readonly titleOf: (path: string) => string | undefined;
}

/** What a page shows in it. */
export interface PageParts {
  readonly title: string;
  /** HTML. */
  readonly body: string;
  /** Below `/docs`; undefined for one that is not a page of the documentation. */
  readonly path?: string | undefined;
  readonly headings?: readonly Heading[];
  /** Address of the script; most pages have none. */
  readonly script?: string;
}

const siteName = "Latchkey documentation";
/** Ids start with `_`, as no anchor of a heading does. */
const mainId = "_main";
/** Characters of a query. */
const mostQueryLength = 100;

const navigationHtml = (groups: readonly NavigationGroup[], current: string | undefined): string => {
  const isWithin = (path: string): boolean => current === path || current?.startsWith(`${path}/`) === true;
  const nearest = groups
    .flatMap(({ links }) => links)
    .filter(({ path }) => isWithin(path))
    .sort((a, b) => b.path.length - a.path.length)[0]?.path;
  return groups
    .map(({ title, links }) => {
      const items = links.map(({ title: name, path }) => {
        const state = path === nearest ? ` aria-current="${path === current ? "page" : "true"}"` : "";
        return `<li><a href="${escapeHtml(addressOf(path))}"${state}>${escapeHtml(name)}</a></li>`;
      });
      return `${title === "" ? "" : `<p class="group">${escapeHtml(title)}</p>`}<ul>${items.join("")}</ul>`;
    })
    .join("\n");
};

const breadcrumbHtml = (path: string, title: string, titleOf: Frame["titleOf"]): string => {
  const folders = path.split("/").slice(0, -1);
  const above = ["", ...folders.map((_, depth) => folders.slice(0, depth + 1).join("/"))];
  const items = above.map((folder) => {
    const name = folder === "" ? "Documentation" : (titleOf(folder) ?? folder.split("/").at(-1) ?? "");
    const isPage = titleOf(folder) !== undefined;
    return `<li>${isPage ? `<a href="${escapeHtml(addressOf(folder))}">${escapeHtml(name)}</a>` : escapeHtml(name)}</li>`;
  });
  return `<nav class="breadcrumb" aria-label="Breadcrumb"><ol>${items.join("")}<li aria-current="page">${escapeHtml(title)}</li></ol></nav>`;
};

const contentsHtml = (headings: readonly Heading[]): string => {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return "";
  const items = shown.map(
    ({ depth, text, slug }) => `<li class="depth-${depth}"><a href="#${escapeHtml(slug)}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="contents" aria-label="On this page"><details><summary>On this page</summary><ul>${items.join("")}</ul></details></nav>`;
};

/** A whole page. It requests nothing but its stylesheet, its icon, its pictures and its script, if it has one. */
export const pageHtml = (frame: Frame, { title, body, path, headings = [], script }: PageParts): string => {
  const isIndex = path === "";
  const navigation = navigationHtml(frame.navigation, path);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(isIndex ? siteName : `${title} · ${siteName}`)}</title>
<link rel="stylesheet" href="${frame.stylesheet}">
<link rel="icon" href="${frame.icon}" type="image/svg+xml">
${script === undefined ? "" : `<script type="module" src="${script}"></script>\n`}</head>
<body>
<a class="skip" href="#${mainId}">Skip to content</a>
<header class="top">
<a class="brand" href="/docs"${isIndex ? ' aria-current="page"' : ""}>${siteName}</a>
<form action="/docs" role="search">
<input type="search" name="q" maxlength="${mostQueryLength}" aria-label="Search the documentation" placeholder="Search" required>
<button>Search</button>
</form>
</header>
<div class="columns">
${navigation === "" ? "" : `<nav class="index" aria-label="All pages"><details><summary>All pages</summary>\n${navigation}\n</details></nav>`}
<main id="${mainId}">
${path ? breadcrumbHtml(path, title, frame.titleOf) : ""}
${contentsHtml(headings)}
<article>
${body}</article>
</main>
</div>
<footer>Latchkey ${escapeHtml(frame.version)}</footer>
</body>
</html>
`;
};

/**
 * The page whose script shows the results of a search. Without scripts it leads to the lists of pages.
 * @param addresses of the script, and of the sections that it searches
 */
export const searchPageHtml = (frame: Frame, { script, sections }: { readonly script: string; readonly sections: string }): string =>
  pageHtml(frame, {
    title: "Search",
    script,
    body: `<h1>Search results</h1>
<noscript><p>The search needs JavaScript. Without it, find your page in <a href="/docs">the index</a>.</p></noscript>
<p id="_status" role="status"></p>
<ol id="_results" class="results" data-sections="${sections}"></ol>
`,
  });
