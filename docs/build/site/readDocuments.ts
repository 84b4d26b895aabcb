import { readFileSync } from "node:fs";
import { join } from "node:path";
import { urlPathOf } from "../../../src/platform/documentation/documentationFiles.ts";
import { listFiles } from "../../../src/platform/util/listFiles.ts";

/** A page of the documentation, as it was written. */
export interface Document {
  /** Below the directory of the documentation, with `/`: `reference/keys.createKey.md`. */
  readonly file: string;
  /** Below `/docs`, as a URL has it, empty for the index: `reference/keys.createKey`. */
  readonly path: string;
  readonly title: string;
  /** Markdown. */
  readonly text: string;
}

/** Everything that is served below `/docs`. */
export interface Documents {
  /** By their paths. */
  readonly pages: ReadonlyMap<string, Document>;
  /** By their files. */
  readonly pagesByFile: ReadonlyMap<string, Document>;
  /** Files below the directory of the documentation, with `/`. */
  readonly pictures: ReadonlySet<string>;
}

const titleOf = (file: string, text: string): string => /^#[ \t]+(\S.*)$/m.exec(text)?.[1]?.replace(/[`*]/g, "").trim() ?? file;

/** The file of a page in `docs/dist`: a `README.md` is the page of its folder. */
export const builtFileOf = ({ file }: Pick<Document, "file">): string =>
  file === "README.md" ? "index.html" : `${file.replace(/(\/README)?\.md$/, "")}.html`;

/** Reads the Markdown files below a directory, and finds its pictures. What starts with a dot and the folders `build`, `dist` and `internals` are left out. */
export const readDocuments = async (directory: string): Promise<Documents> => {
  const files = (await listFiles(directory)).filter((file) => !/(^|\/)\.|^(build|dist|internals)\//.test(file));
  const pages = files
    .filter((file) => file.endsWith(".md"))
    .map((file): Document => {
      const text = readFileSync(join(directory, file), "utf8");
      return { file, path: urlPathOf(builtFileOf({ file })), title: titleOf(file, text), text };
    });
  return {
    pages: new Map(pages.map((page) => [page.path, page])),
    pagesByFile: new Map(pages.map((page) => [page.file, page])),
    pictures: new Set(files.filter((file) => /\.(jpg|png|svg|webp)$/.test(file))),
  };
};
