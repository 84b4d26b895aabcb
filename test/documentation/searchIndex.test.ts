import { expect, test } from "vitest";
import { excerptOf } from "../../docs/build/site/search/excerpt.ts";
import { createSearch } from "../../docs/build/site/search/searchIndex.ts";
import { sectionsOf } from "../../docs/build/site/sections.ts";

const pageOf = (path: string, title: string, text: string) => ({ file: `${path}.md`, path, title, text: `# ${title}\n\n${text}` });

/** Searches pages, and returns the paths of what was found. */
const searchIn = async (pages: readonly ReturnType<typeof pageOf>[]) => {
  const search = await createSearch(pages.flatMap(sectionsOf));
  return (query: string) => search(query).map(({ section }) => section.path);
};

test("[console §1] among pages with the same words a guide is found first, then a page of reference, then the index", async () => {
  const paths = ["", "reference/limits", "limits"];
  const search = await searchIn(paths.map((path) => pageOf(path, "Limits", "How a limit counts.")));
  expect(search("limit counts")).toEqual(["limits", "reference/limits", ""]);
});

test("[console §1] a question is searched by the words that tell something", async () => {
  const search = await searchIn([
    pageOf("identities", "Identities", "Limits over many keys of one user."),
    pageOf("backup", "Backup", "How do I do it? I do a backup."),
  ]);
  expect(search("how do I limit a user over many keys")).toEqual(["identities"]);
  expect(search("how do")).toEqual(["backup"]);
});

test("[console §1] pages that have some of the words follow those that have all", async () => {
  const search = await searchIn([pageOf("nginx", "Nginx", "Certificates."), pageOf("proxies", "Proxies", "Nginx and its timeouts.")]);
  expect(search("nginx timeouts")).toEqual(["proxies", "nginx"]);
});

test("[console §1] the first words of a long query count", async () => {
  const search = await searchIn([pageOf("keys", "Keys", "What createKey does."), pageOf("limits", "Limits", "How a limit counts.")]);
  expect(search(`createKey ${"x ".repeat(3_000)} limits`)).toEqual(["keys"]);
  expect(search("\u{1f600} ...")).toEqual([]);
});

test("[console §1] an excerpt shows whole words around the first that was found, and which of them were", () => {
  const text = `${"before ".repeat(30)}the Customer, or customers: ${"after ".repeat(60)}`;
  const pieces = excerptOf(text, ["customer"]);
  expect(pieces.filter(({ isFound }) => isFound)).toEqual([{ text: "Customer", isFound: true }]);
  const shown = pieces.map((piece) => piece.text).join("");
  expect(shown).toMatch(/^… before .*the Customer, or customers: .*after …$/);
  expect(shown.length).toBeLessThan(230);
  expect(excerptOf("a (b", ["(b"])).toEqual([
    { text: "a (", isFound: false },
    { text: "b", isFound: true },
    { text: "", isFound: false },
  ]);
  expect(excerptOf("short", [])).toEqual([{ text: "short", isFound: false }]);
});
