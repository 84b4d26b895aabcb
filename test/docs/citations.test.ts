import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { headingsOf, withoutCode } from "../../docs/build/markdown.ts";
import { anchorOf, chapters, citationsIn, withoutCitations } from "./citations.ts";

const root = join(import.meta.dirname, "../..");

/** Files that are or will be committed, by a plain file list: files that git ignores are not read. */
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));

const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Comments as running text: a citation may go over the end of a line. */
const joined = (text: string): string => text.replaceAll(/\s*\n\s*(?:\*|\/\/|#|>)?\s*/g, " ");

describe("citations of the specification", () => {
  const citing = files
    .filter((file) => /^(src|proto|test|bench|docs|spec|ui\/src|[^/]+\.md$)/.test(file) && /\.(ts|tsx|css|proto|md|sh|txt)$/.test(file))
    .map((file): [file: string, text: string] => [file, read(file)])
    .filter(([, text]) => text.includes("§"))
    .map(([file, text]): [file: string, text: string] => [file, joined(text)]);

  test("every one of them in code, tests, interface and documents leads to a heading or a numbered rule", () => {
    const dead = citing.flatMap(([file, text]) =>
      citationsIn(text)
        .filter((citation) => anchorOf(citation) === undefined)
        .map(({ chapter, section }) => `${file}: ${chapter} §${section}`),
    );
    expect(dead).toEqual([]);
  });

  // In a chapter of the specification a bare § is of the same chapter.
  test("every § outside the specification belongs to a citation or to an RFC", () => {
    const others = citing.filter(([file]) => !file.startsWith("spec/"));
    const strange = others.flatMap(([file, text]) =>
      [
        ...withoutCitations(text)
          .replaceAll(/(?:RFC \d+|DESIGN|style) §[\d.]+/g, "")
          .matchAll(/(?<!["`])§\d.{0,20}/g),
      ].map(([rest]) => `${file}: ${rest}`),
    );
    expect(strange).toEqual([]);
  });

  test("a chapter, a section, several sections and a rule are distinguished", () => {
    expect(citationsIn("[keys §1.6, §1.9] and (protocol §§3, 4), Protocol §11, rootkeys §2")).toEqual([
      { chapter: "keys", section: "1.6" },
      { chapter: "keys", section: "1.9" },
      { chapter: "protocol", section: "3" },
      { chapter: "protocol", section: "4" },
      { chapter: "protocol", section: "11" },
      { chapter: "rootkeys", section: "2" },
    ]);
    expect(anchorOf({ chapter: "keys", section: "1.6" })).toBe("16-field-formats-request");
    expect(anchorOf({ chapter: "console", section: "2.4" })).toBe("2-sign-in-and-sessions");
    expect(anchorOf({ chapter: "console", section: "2.40" })).toBeUndefined();
    expect(chapters.map((chapter) => anchorOf({ chapter, section: "999" }))).toEqual(chapters.map(() => undefined));
  });
});

describe("links between documents", () => {
  const pages = files.filter((file) => file.endsWith(".md") && !file.startsWith("ui/dist/"));
  const anchors = new Map<string, ReadonlySet<string>>();
  const anchorsOf = (file: string): ReadonlySet<string> => {
    let found = anchors.get(file);
    if (found === undefined) {
      found = new Set(headingsOf(read(file)).map(({ anchor }) => anchor));
      anchors.set(file, found);
    }
    return found;
  };

  test("none is dead, neither the file nor the anchor", () => {
    const dead = pages.flatMap((file) =>
      [
        ...withoutCode(read(file))
          .replaceAll(/`[^`\n]*`/g, "")
          .matchAll(/\]\(([^)\s]+)\)/g),
      ].flatMap(([, target = ""]) => {
        if (/^[a-z]+:/.test(target)) return [];
        const [path = "", anchor] = target.split("#");
        const to = path === "" ? file : relative(root, join(root, dirname(file), path));
        if (!existsSync(join(root, to))) return [`${file}: ${target}`];
        return anchor === undefined || anchorsOf(to).has(anchor) ? [] : [`${file}: ${target}`];
      }),
    );
    expect(dead).toEqual([]);
  });
});
