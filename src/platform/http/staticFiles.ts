import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { OutgoingHttpHeaders } from "node:http";
import { extname, join } from "node:path";

/** A built file, with its compressed forms. */
export interface BuiltFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly br?: Buffer | undefined;
  /** Undefined where compressing it gains nothing. */
  readonly gzip: Buffer | undefined;
}

/** The built files of the console, in memory. */
export interface StaticFiles {
  readonly index: BuiltFile;
  /** By their names below `/ui/a/`, which have their hashes. */
  readonly assets: ReadonlyMap<string, BuiltFile>;
}

/** Media types of built files, by the endings of their names. */
export const mediaTypes: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".jpg": "image/jpeg",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webp": "image/webp",
  ".woff2": "font/woff2",
};

const compressed = /\.(br|gz)$/;

const read = (file: string): BuiltFile => {
  const beside = (suffix: string) => (existsSync(file + suffix) ? readFileSync(file + suffix) : undefined);
  return {
    type: mediaTypes[extname(file)] ?? "application/octet-stream",
    plain: readFileSync(file),
    br: beside(".br"),
    gzip: beside(".gz"),
  };
};

/** @param directory `ui/dist` of this version. Undefined when the page was not built into it. */
export const readStaticFiles = (directory: string): StaticFiles | undefined => {
  const index = join(directory, "index.html");
  if (!existsSync(index)) return undefined;
  const folder = join(directory, "a");
  const names = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
  const assets = names
    .filter((entry) => entry.isFile() && !compressed.test(entry.name))
    .map(({ name }) => [name, read(join(folder, name))] as const);
  return { index: read(index), assets: new Map(assets) };
};

const accepts = (header: string, coding: string): boolean =>
  header.split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    return name === coding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });

/** Body and headers of a file in the smallest form that a request accepts. */
export const inAcceptedForm = (
  { type, plain, br, gzip }: BuiltFile,
  acceptEncoding = "",
): { readonly body: Buffer; readonly headers: OutgoingHttpHeaders } => {
  const headers = { "content-type": type, vary: "accept-encoding" };
  if (br && accepts(acceptEncoding, "br")) return { body: br, headers: { ...headers, "content-encoding": "br" } };
  if (gzip && accepts(acceptEncoding, "gzip")) return { body: gzip, headers: { ...headers, "content-encoding": "gzip" } };
  return { body: plain, headers };
};

/** An answer that is whole in memory. */
export interface WholeAnswer {
  readonly status: number;
  /** The body's length and form among them. */
  readonly headers: OutgoingHttpHeaders;
  /** Also of HEAD, where it is not sent. */
  readonly body: Buffer;
}

/** An answer of one line of text, in place of a file. */
export const lineAnswer = (status: number, line: string, headers: OutgoingHttpHeaders = {}): WholeAnswer => {
  const body = Buffer.from(`${line}\n`);
  const form = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store", "content-length": body.length };
  return { status, headers: { ...form, ...headers }, body };
};
