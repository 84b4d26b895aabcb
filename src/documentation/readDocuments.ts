import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import pMap from "p-map";

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

/** A picture of the documentation. */
export interface Picture {
  /** Its path on this machine. */
  readonly file: string;
  /** Media type. */
  readonly type: string;
}

/** Everything that is served below `/docs`: what is not in it does not exist, so no request becomes the path of a file. */
export interface Documents {
  /** By their paths. */
  readonly pages: ReadonlyMap<string, Document>;
  /** By their files. */
  readonly pagesByFile: ReadonlyMap<string, Document>;
  /** By their paths, which are those of their files as a URL has them. */
  readonly pictures: ReadonlyMap<string, Picture>;
}

const pictureTypes: Readonly<Record<string, string>> = {
  jpg: "image/jpeg",
  png: "image/png",
  svg: "image/svg+xml",
  webp: "image/webp",
};

const filesAtATime = 16;

/** A path of a file as a URL has it, compared by its characters: `%2F` and `%2e` are no way to write another one. */
export const urlPathOf = (file: string): string => file.split("/").map(encodeURIComponent).join("/");

const pagePathOf = (file: string): string => urlPathOf(file.replace(/\.md$/, "").replace(/(^|\/)README$/, ""));

const titleOf = (file: string, text: string): string => /^#[ \t]+(\S.*)$/m.exec(text)?.[1]?.replace(/[`*]/g, "").trim() ?? file;

/** Files below a folder of `directory`, with `/`. What begins with a dot is left out, and so are links: one might lead anywhere. */
const filesBelow = async (directory: string, folder = ""): Promise<readonly string[]> => {
  const entries = await readdir(join(directory, folder), { withFileTypes: true });
  const found = entries
    .filter(({ name }) => !name.startsWith("."))
    .map(async (entry): Promise<readonly string[]> => {
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory()) return filesBelow(directory, `${path}/`);
      return entry.isFile() ? [path] : [];
    });
  return (await Promise.all(found)).flat().sort();
};

/** None where there is no such directory. */
const filesIn = async (directory: string): Promise<readonly string[]> => {
  try {
    return await filesBelow(directory);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
};

/** Reads all Markdown files below `directory`, and which pictures are there. */
export const readDocuments = async (directory: string): Promise<Documents> => {
  const files = await filesIn(directory);
  const pages = await pMap(
    files.filter((file) => file.endsWith(".md")),
    async (file): Promise<Document> => {
      const text = await readFile(join(directory, file), "utf8");
      return { file, path: pagePathOf(file), title: titleOf(file, text), text };
    },
    { concurrency: filesAtATime },
  );
  const pictures = files.flatMap((file) => {
    const type = pictureTypes[/\.([a-z]+)$/.exec(file)?.[1] ?? ""];
    return type === undefined ? [] : [[urlPathOf(file), { file: join(directory, file), type }] as const];
  });
  return {
    pages: new Map(pages.map((page) => [page.path, page])),
    pagesByFile: new Map(pages.map((page) => [page.file, page])),
    pictures: new Map(pictures),
  };
};
