import { hash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { type BuiltFile, mediaTypes } from "../http/staticFiles.ts";
import { listFiles } from "../util/listFiles.ts";

/** A file of the documentation, read and compressed. */
export interface DocumentationFile extends BuiltFile {
  /** Value of the header `ETag`, with its quotes. */
  readonly etag: string;
  /** Whether its address holds its hash. */
  readonly isImmutable: boolean;
}

/** The documentation as rendered files (`docs/build/site`). */
export interface DocumentationFiles {
  /** @param path below `/docs/`, as the request has it, without the query; empty for the index. */
  readonly find: (path: string) => Promise<DocumentationFile | undefined>;
  /** The page that shows the results of a search. */
  readonly searchPage: () => Promise<DocumentationFile>;
  readonly notFoundPage: () => Promise<DocumentationFile>;
}

const compress = promisify(gzip);

/** The path that a file has in a URL: pages lack their ending, and the index is empty. */
export const urlPathOf = (file: string): string => {
  const path = file.replace(/\.html$/, "");
  return path === "index" ? "" : path.split("/").map(encodeURIComponent).join("/");
};

/**
 * Lists the files of the documentation. Each is read and compressed when it is first requested, and kept.
 * @param directory `docs/dist` of this version. Undefined when the documentation was not built into it.
 */
export const openDocumentationFiles = async (directory: string): Promise<DocumentationFiles | undefined> => {
  if (!existsSync(join(directory, "index.html"))) return undefined;
  // Requests are looked up among these, so that the path of a request never becomes the path of a file.
  const listed = await listFiles(directory);
  const files = new Map(
    listed.filter((file) => extname(file) in mediaTypes && !file.startsWith("_")).map((file) => [urlPathOf(file), file]),
  );

  const read = async (file: string): Promise<DocumentationFile> => {
    const plain = await readFile(join(directory, file));
    const type = mediaTypes[extname(file)] ?? "application/octet-stream";
    return {
      type,
      plain,
      gzip: /^text|svg|json/.test(type) ? await compress(plain) : undefined,
      etag: `W/"${hash("sha256", plain, "base64url").slice(0, 22)}"`,
      isImmutable: file.startsWith("a/"),
    };
  };
  const kept = new Map<string, Promise<DocumentationFile>>();
  const open = (file: string): Promise<DocumentationFile> => {
    const known = kept.get(file);
    if (known !== undefined) return known;
    const reading = read(file);
    kept.set(file, reading);
    reading.catch(() => kept.delete(file));
    return reading;
  };

  return {
    find: async (path) => {
      const file = files.get(path);
      return file === undefined ? undefined : open(file);
    },
    searchPage: () => open("_search.html"),
    notFoundPage: () => open("_not-found.html"),
  };
};
