import { existsSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { exitCodes } from "../../src/cli/command.ts";
import { configVariables } from "../../src/platform/config/loadConfig.ts";
import { anchorsOf, blocksOf, guides, proseOf, readPage } from "./markdown.ts";

const root = join(import.meta.dirname, "../..");
const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "test/README.md"];
const allPages = [
  ...documents,
  ...["docs", "spec"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
];

/** Parts of the documentation that are made apart from the guides: where one is not there at all, links into it are not judged. */
const missingParts = ["reference", "errors", "openapi.json", "grpc.md", "clients.md"]
  .map((name) => `docs/${name}`)
  .filter((part) => !existsSync(join(root, part)));

describe("the rules for all guides", () => {
  test("README has at most 150 lines, a guide fewer than 200", () => {
    expect(readPage("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(150);
    for (const page of guides) expect(readPage(page).split("\n").length, page).toBeLessThan(200);
  });

  test.each(guides)("%s starts with a title and a sentence about its purpose", (page) => {
    const [title = "", purpose = ""] = readPage(page).split("\n\n");
    expect(title).toMatch(/^# \S.*$/);
    expect(purpose).toMatch(/^[A-Z][^#|]*\.$/s);
  });

  test.each(["README.md", ...guides])("%s is wrapped at 120 characters, but for tables and code", (page) => {
    const long = proseOf(readPage(page))
      .split("\n")
      .filter((line) => line.length > 120 && !/^\s*(?:\||<)/.test(line) && !line.includes("]("));
    expect(long).toEqual([]);
  });

  test("the index leads to every guide", () => {
    const linked = [...readPage("docs/README.md").matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, target]) => `docs/${target}`);
    expect(guides.filter((page) => page !== "docs/README.md" && !linked.includes(page))).toEqual([]);
  });
});

test("no link leads nowhere", () => {
  const dead: string[] = [];
  for (const page of allPages)
    for (const [, target = ""] of proseOf(readPage(page)).matchAll(/(?:\]\(|srcset="|src="|href=")([^)\s"]+)/g)) {
      if (/^(?:https?:|mailto:)/.test(target)) continue;
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : normalize(join(dirname(page), path));
      if (missingParts.some((part) => file.startsWith(part))) continue;
      if (!existsSync(join(root, file))) dead.push(`${page}: ${target}`);
      else if (anchor !== undefined && !anchorsOf(readPage(file)).includes(anchor)) dead.push(`${page}: ${target}`);
    }
  expect(dead).toEqual([]);
});

test("every script, file and folder that the documents name is there", () => {
  for (const document of [...documents, ...guides]) {
    const text = readPage(document);
    for (const [, script = ""] of text.matchAll(/npm run (?:--silent )?([\w:]+)/g))
      expect(packageJson.scripts, document).toHaveProperty([script]);
    for (const [, path = ""] of text.matchAll(/`((?:src|test|proto|gen|deploy|docs|spec|bench|\.ci|\.github)\/[^`*<…]*)`/g))
      expect(existsSync(join(root, path)) || missingParts.some((part) => path.startsWith(part)), `${path} in ${document}`).toBe(true);
    // A part of a path is enough for vitest.
    for (const [, part = ""] of text.matchAll(/npm (?:test|run test:processes) -- (test\/[\w/.-]+)/g)) {
      const siblings = readdirSync(join(root, dirname(part))).map((name) => join(dirname(part), name));
      expect(
        siblings.some((path) => path.startsWith(part)),
        `${part} in ${document}`,
      ).toBe(true);
    }
  }
});

test("the two commands of a newcomer are scripts of package.json", () => {
  const [start] = blocksOf(readPage("README.md"));
  expect(start?.body).toBe("npm ci --omit=optional && npm start");
  expect(blocksOf(readPage("CONTRIBUTING.md"))[0]?.body).toBe("npm ci\nnpm test\nnpm run check");
  expect(Object.keys(packageJson.scripts)).toEqual(expect.arrayContaining(["start", "test", "check"]));
});

test("every setting of the code has one row on the page of settings", () => {
  const names = [...readPage("docs/reference/settings.md").matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name);
  expect(names.toSorted()).toEqual(configVariables.map(({ name }) => name).toSorted());
});

test("the table of exit codes is the one of the code", () => {
  const rows = readPage("docs/command-line.md").match(/^\| \d \|.*$/gm);
  expect(rows).toEqual(Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`));
});
