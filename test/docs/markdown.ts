import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Text of a file of the repository. @param path from its root */
export const readPage = (path: string): string => readFileSync(join(root, path), "utf8");

/** The guides and their index, as paths from the root of the repository, sorted. */
export const guides: readonly string[] = readdirSync(join(root, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`)
  .sort();

/** A fenced block of code. */
export interface Block {
  /** The word behind the fence; empty where there is none. */
  readonly language: string;
  readonly body: string;
  /** Text of the HTML comment on the line before the fence: what a test has to know of the block, which readers do not see. */
  readonly comment: string | undefined;
  /** Line of the fence, from 1. */
  readonly line: number;
}

/** All blocks of a page, in order; those of a quotation or a list count as well. */
export const blocksOf = (markdown: string): Block[] => {
  const blocks: Block[] = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent = "", language = ""] = /^([ >]*)```(\S*)/.exec(lines[at] ?? "") ?? [undefined];
    if (!/^[ >]*```/.test(lines[at] ?? "")) continue;
    const end = lines.findIndex((line, index) => index > at && line === `${indent}\`\`\``);
    if (end < 0) throw new Error(`line ${at + 1}: the block has no end`);
    const before = lines.slice(0, at).findLast((line) => line.trim() !== "");
    blocks.push({
      language,
      body: lines
        .slice(at + 1, end)
        .map((line) => line.slice(indent.length))
        .join("\n"),
      comment: /^<!-- (.*) -->$/.exec(before?.trim() ?? "")?.[1],
      line: at + 1,
    });
    at = end;
  }
  return blocks;
};

/** A page without its code, in blocks and in lines. */
export const proseOf = (markdown: string): string => markdown.replaceAll(/^([ >]*)```.*?^\1```$/gms, "").replaceAll(/`[^`\n]*`/g, "``");

/** The anchors that GitHub makes of a page's headings. */
export const anchorsOf = (markdown: string): string[] => {
  const seen = new Map<string, number>();
  return [...markdown.replaceAll(/^([ >]*)```.*?^\1```$/gms, "").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
};
