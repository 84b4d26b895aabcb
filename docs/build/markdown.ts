/** A heading of a Markdown page. */
export interface Heading {
  readonly level: number;
  readonly text: string;
  /** What a link to it ends with, behind `#`. */
  readonly anchor: string;
}

/** What a heading shows: links and marks are not part of its anchor. */
const shown = (text: string): string => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");

/** Anchors as GitHub makes them, without the number that a repeated heading gets. */
const slug = (text: string): string =>
  shown(text)
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");

/** A page without its code blocks, whose lines are empty. */
export const withoutCode = (page: string): string => page.replaceAll(/^(```|~~~).*?^\1/gms, (block) => block.replaceAll(/[^\n]/g, ""));

/** The headings of a page, with the anchors that GitHub gives them. */
export const headingsOf = (page: string): Heading[] => {
  const seen = new Map<string, number>();
  return [...withoutCode(page).matchAll(/^(#{1,6}) +(.+?)(?: +#+)? *$/gm)].map(([, marks = "", text = ""]) => {
    const own = slug(text);
    const times = seen.get(own) ?? 0;
    seen.set(own, times + 1);
    return { level: marks.length, text: shown(text), anchor: times === 0 ? own : `${own}-${times}` };
  });
};

/** Text as a cell of a table holds it. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ");

/** A table; columns are as wide as their text, since rows change one by one. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows.map((row) => row.map(cell))].map((row) => `| ${row.join(" | ")} |`).join("\n");

/** Text in a code span. */
export const code = (text: string): string => (text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``);

/** A block of code. */
export const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``;

/** A page: its parts with an empty line between them. Parts that are empty are left out. */
export const page = (parts: readonly string[]): string => `${parts.filter((part) => part !== "").join("\n\n")}\n`;
