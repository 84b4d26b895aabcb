import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addressOf } from "./addressOf.ts";
import { bundleSearch } from "./bundleSearch.ts";
import { type Frame, pageHtml, searchPageHtml } from "./pageHtml.ts";
import { parsePage } from "./parsePage.ts";
import { builtFileOf, type Document, readDocuments } from "./readDocuments.ts";
import { readNavigation } from "./readNavigation.ts";
import { renderMarkdown } from "./renderMarkdown.ts";
import { sectionsOf } from "./sections.ts";

interface SiteOptions {
  /** Directory of the Markdown files. */
  readonly directory: string;
  /** Version of the service, for the foot of each page. */
  readonly version: string;
}

/**
 * Renders the documentation as the files that the service serves below `/docs` (console §1), by their paths: `guide.html`
 * for `/docs/guide`, pictures, and under `a/` assets with their hash in the name. `_search.html` and `_not-found.html` are
 * pages without an address of their own. The same sources and packages give the same bytes.
 */
export const renderSite = async ({ directory, version }: SiteOptions): Promise<ReadonlyMap<string, Buffer>> => {
  const files = new Map<string, Buffer>();
  const add = (path: string, content: string | Buffer): void => {
    files.set(path, Buffer.from(content));
  };
  /** @returns the address of the asset */
  const addAsset = (name: string, content: string | Buffer): string => {
    const path = `a/${hash("sha256", content, "hex").slice(0, 12)}-${name}`;
    add(path, content);
    return addressOf(path);
  };
  const readAsset = (name: string) => readFileSync(join(import.meta.dirname, "assets", name));

  const documents = await readDocuments(directory);
  const pages = [...documents.pages.values()];
  const frame: Frame = {
    stylesheet: addAsset("docs.css", readAsset("docs.css")),
    icon: addAsset("icon.svg", readAsset("icon.svg")),
    version,
    navigation: readNavigation(documents),
    titleOf: (path) => documents.pages.get(path)?.title,
  };

  const render = ({ file, path, title, text }: Document): string => {
    const parsed = parsePage(text);
    return pageHtml(frame, { title, path, headings: [...parsed.headings.values()], body: renderMarkdown(parsed, file, documents) });
  };
  for (const page of pages) add(builtFileOf(page), render(page));
  for (const file of documents.pictures) add(file, readFileSync(join(directory, file)));

  const { script, licences } = await bundleSearch();
  add("licences.txt", licences);
  const search = {
    script: addAsset("search.js", script),
    sections: addAsset("sections.json", JSON.stringify(pages.flatMap(sectionsOf))),
  };
  add("_search.html", searchPageHtml(frame, search));
  const missing = '<h1>Page not found</h1>\n<p>Use the search above, or start at <a href="/docs">the index</a>.</p>\n';
  add("_not-found.html", pageHtml(frame, { title: "Page not found", body: missing }));
  return files;
};
