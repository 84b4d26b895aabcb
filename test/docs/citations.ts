import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Heading, headingsOf } from "../../docs/build/markdown.ts";

/** The chapters of the specification by the name under which they are cited. */
export const chapters: readonly string[] = [
  ...["protocol", "apis", "keys", "verify", "identities", "permissions", "ratelimit", "analytics", "rootkeys"],
  ...["management", "grpc", "console", "data"],
];

/** A section of a chapter as it is cited: `keys §1.6`. */
export interface Citation {
  readonly chapter: string;
  readonly section: string;
}

const directory = join(import.meta.dirname, "../../spec");

/** The chapter's text. Throws when there is none of this name. */
export const chapterText = (chapter: string): string => readFileSync(join(directory, `${chapter}.md`), "utf8");

const numberOf = ({ text }: Heading): string | undefined => /^(\d+[a-z]?(?:\.\d+)*)\.? /.exec(text)?.[1];

interface Chapter {
  readonly text: string;
  readonly headings: readonly Heading[];
}

const read = new Map<string, Chapter>();

const readChapter = (name: string): Chapter => {
  let chapter = read.get(name);
  if (chapter === undefined) {
    const text = chapterText(name);
    chapter = { text, headings: headingsOf(text) };
    read.set(name, chapter);
  }
  return chapter;
};

/** The numbered rules `7. …` under a heading, up to the next heading. */
const hasRule = ({ text }: Chapter, heading: Heading, rule: string): boolean => {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.includes(heading.text));
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line));
  return lines.slice(start + 1, length < 0 ? undefined : start + 1 + length).some((line) => line.startsWith(`${rule}. `));
};

/**
 * The anchor of what a citation means: a heading with that number (`keys §1.6`), or the heading above a numbered rule
 * (`console §2.4`: rule 4 of section 2). Undefined when there is neither.
 */
export const anchorOf = ({ chapter: name, section }: Citation): string | undefined => {
  const chapter = readChapter(name);
  const heading = chapter.headings.find((each) => numberOf(each) === section);
  if (heading !== undefined) return heading.anchor;
  const dot = section.lastIndexOf(".");
  if (dot < 0) return undefined;
  const above = chapter.headings.find((each) => numberOf(each) === section.slice(0, dot));
  return above !== undefined && hasRule(chapter, above, section.slice(dot + 1)) ? above.anchor : undefined;
};

const names = chapters.join("|");
const cited = new RegExp(`\\b(${names})((?: ?,? ?(?:and |or |to )?§§?\\d+[a-z]?(?:\\.\\d+)*(?:(?:, | and )\\d+(?:\\.\\d+)*)*)+)`, "gi");

/** The citations of chapters in a text, in their order: of `keys §1.6, §1.9` two, of `protocol §§3, 4` two. */
export const citationsIn = (text: string): Citation[] =>
  [...text.matchAll(cited)].flatMap(([, chapter = "", sections = ""]) =>
    [...sections.matchAll(/\d+[a-z]?(?:\.\d+)*/g)].map(([section]) => ({ chapter: chapter.toLowerCase(), section })),
  );

/** Text without the citations of chapters. */
export const withoutCitations = (text: string): string => text.replaceAll(cited, "");
