import { posix } from "node:path";
import { urlPathOf } from "../../../src/platform/documentation/documentationFiles.ts";
import { addressOf } from "./addressOf.ts";
import type { Documents } from "./readDocuments.ts";

const followed: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** The description of `/v2` for machines lies with the pages, and is served at an address of its own (console §1). */
const openapiFile = "openapi.json";

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/** The file that a link names, by its path from the directory of the documentation; undefined where it names none. */
const fileOf = (from: string, link: string): string | undefined => {
  const path = decoded(link);
  return path === undefined || path.startsWith("/") ? undefined : posix.join(posix.dirname(from), path).replace(/\/$/, "");
};

/**
 * Where a link of a page leads when the page is served: `x.md#y` to `/docs/x#y`, another site's to where it says, undefined for what
 * is not served, such as a source file of the repository.
 *
 * @param from the file of the page, below the directory of the documentation.
 */
export const resolveLink = ({ pagesByFile }: Documents, from: string, href: string): string | undefined => {
  if (href.startsWith("#")) return href;
  if (URL.canParse(href)) return followed.has(new URL(href).protocol) ? href : undefined;
  const [path = "", fragment] = href.split("#", 2);
  const file = fileOf(from, path);
  if (file === undefined) return undefined;
  if (file === openapiFile) return `/${openapiFile}`;
  const page = pagesByFile.get(file) ?? pagesByFile.get(posix.join(file, "README.md"));
  return page && addressOf(page.path) + (fragment === undefined ? "" : `#${fragment}`);
};

/** The address of a picture that a page shows; undefined for one of another site, which is never asked, and one that is missing. */
export const resolvePicture = ({ pictures }: Documents, from: string, href: string): string | undefined => {
  const file = URL.canParse(href) ? undefined : fileOf(from, href);
  return file !== undefined && pictures.has(file) ? addressOf(urlPathOf(file)) : undefined;
};
