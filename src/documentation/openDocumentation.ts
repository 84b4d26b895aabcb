import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type Frame, pageHtml } from "./pageHtml.ts";
import { parsePage } from "./parsePage.ts";
import { type Document, readDocuments } from "./readDocuments.ts";
import { readNavigation } from "./readNavigation.ts";
import { renderMarkdown } from "./renderMarkdown.ts";
import { addressOf } from "./resolveLink.ts";
import { searchHtml } from "./searchHtml.ts";
import { createSearchIndex, mostQueryLength } from "./searchIndex.ts";

/** A file that is sent as it is. */
export interface DocumentationFile {
  /** Media type. */
  readonly type: string;
  readonly plain: Buffer;
  /** Undefined where compressing it gains nothing. */
  readonly gzip: Buffer | undefined;
  /** As in the header `ETag`, with its quotes. */
  readonly etag: string;
  /** The address has the hash of the file. */
  readonly isImmutable: boolean;
}

/** What there is for an address: a file, or the address at which it is. */
export type Found = { readonly file: DocumentationFile } | { readonly movedTo: string };

/** The documentation of this version, as pages without scripts. */
export interface Documentation {
  /**
   * @param path below `/docs/`, as the request has it, without the query; empty for the index.
   * Undefined where there is nothing.
   */
  readonly find: (path: string) => Promise<Found | undefined>;
  /** The page that says that there is nothing at an address. */
  readonly notFound: () => Promise<DocumentationFile>;
  /** The page of what is found for a query: HTML. The first search reads all pages. */
  readonly search: (query: string) => Promise<string>;
  /** A page of one sentence, such as why there is no other. */
  readonly notice: (title: string, sentence: string) => string;
}

export interface DocumentationOptions {
  /** Of the Markdown files. */
  readonly directory: string;
  /** Of the service. */
  readonly version: string;
}

const compress = promisify(gzip);

const fileOf = async (type: string, plain: Buffer, isImmutable = false): Promise<DocumentationFile> => ({
  type,
  plain,
  gzip: /^text|svg/.test(type) ? await compress(plain) : undefined,
  etag: `W/"${hash("sha256", plain, "base64url").slice(0, 22)}"`,
  isImmutable,
});

/** A file of the design under a name that has its hash. */
const readAsset = async (name: string, type: string): Promise<readonly [path: string, file: DocumentationFile]> => {
  const body = await readFile(join(import.meta.dirname, "assets", name));
  return [`a/${hash("sha256", body, "hex").slice(0, 12)}-${name}`, await fileOf(type, body, true)];
};

/** The same as `make`, once for each key. What fails is made again the next time. */
const keep = <V>(make: (key: string) => Promise<V>): ((key: string) => Promise<V>) => {
  const made = new Map<string, Promise<V>>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    value.catch(() => made.delete(key));
    return value;
  };
};

/** Runs one task after the other, each in a turn of the event loop of its own. */
const createLine = (): (<T>(task: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(() => setImmediate()).then(task);
    last = next.catch(() => undefined);
    return next;
  };
};

const html = "text/html; charset=utf-8";

/**
 * Reads the documentation (console §1). A page is rendered when it is first asked for, one at a time, and kept: no more of them
 * can be kept than there are files. The index of the search is made by the first search.
 */
export const openDocumentation = async ({ directory, version }: DocumentationOptions): Promise<Documentation> => {
  const documents = await readDocuments(directory);
  const { pages, pictures } = documents;
  const stylesheet = await readAsset("docs.css", "text/css; charset=utf-8");
  const icon = await readAsset("icon.svg", "image/svg+xml");
  const assets = new Map([stylesheet, icon]);
  const frame: Frame = {
    stylesheet: addressOf(stylesheet[0]),
    icon: addressOf(icon[0]),
    version,
    navigation: readNavigation(documents),
    titleOf: (path) => pages.get(path)?.title,
  };
  const inLine = createLine();

  const render = ({ file, path, title, text }: Document): string => {
    const parsed = parsePage(text);
    return pageHtml(frame, { title, path, headings: [...parsed.headings.values()], body: renderMarkdown(parsed, file, documents) });
  };
  const notice: Documentation["notice"] = (title, sentence) => pageHtml(frame, { title, body: `<h1>${title}</h1>\n<p>${sentence}</p>\n` });
  const notFoundPage = (): string =>
    pages.size === 0
      ? notice("No documentation", "The directory <code>docs</code> is missing in this installation.")
      : notice("Page not found", 'Use the search above, or start at <a href="/docs">the index</a>.');

  const rendered = keep((path) => inLine(() => fileOf(html, Buffer.from(render(pages.get(path) as Document)))));
  const notFound = keep(() => fileOf(html, Buffer.from(notFoundPage())));
  const picture = keep(async (path) => {
    const { file = "", type = "" } = pictures.get(path) ?? {};
    return fileOf(type, await readFile(file));
  });
  const index = keep(() => createSearchIndex([...pages.values()]));

  return {
    find: async (path) => {
      if (pages.has(path)) return { file: await rendered(path) };
      if (pictures.has(path)) return { file: await picture(path) };
      const asset = assets.get(path);
      if (asset !== undefined) return { file: asset };
      const plain = path
        .replace(/\/$/, "")
        .replace(/\.md$/, "")
        .replace(/(^|\/)README$/, "");
      return plain !== path && pages.has(plain) ? { movedTo: addressOf(plain) } : undefined;
    },
    notFound: () => notFound("once"),
    search: async (query) => {
      const search = await index("once");
      const shown = [...query.trim()].slice(0, mostQueryLength).join("").toWellFormed();
      return pageHtml(frame, { title: `Search results for ${shown}`, query: shown, body: searchHtml(shown, search(shown)) });
    },
    notice,
  };
};
