import { once } from "node:events";
import { rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { excerptOf } from "../../docs/build/site/search/excerpt.ts";
import { createSearch } from "../../docs/build/site/search/searchIndex.ts";
import { createDocumentationEdge } from "../../src/platform/documentation/documentationEdge.ts";
import { send } from "../support/browser.ts";
import { writeDocumentation } from "../support/writeDocumentation.ts";

const faults: unknown[] = [];
let directory: string;
let server: Server;
let origin: string;

beforeAll(async () => {
  directory = await writeDocumentation();
  const edge = createDocumentationEdge({
    directory,
    isProxy: () => false,
    observer: { fault: (_, error) => faults.push(error) },
  });
  server = createServer(edge).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await rm(dirname(directory), { recursive: true });
});

/** Searches as the script of the search page does. */
const openSearch = async () => {
  const { text } = await send(`${origin}/docs?q=key`);
  const [, sections = ""] = /data-sections="([^"]*)"/.exec(text) ?? [];
  return createSearch(JSON.parse((await send(origin + sections)).text));
};

test("[console §1] a page that could not be read is read again by the next who asks", async () => {
  const index = join(directory, "index.html");
  await send(`${origin}/docs/reference`);
  await rename(index, `${index}.away`);
  await expect(send(`${origin}/docs`)).rejects.toMatchObject({ code: "ECONNRESET" });
  expect(faults).toMatchObject([{ code: "ENOENT" }]);
  await rename(`${index}.away`, index);
  expect((await send(`${origin}/docs`)).text).toContain("<footer>Latchkey 1.2.3</footer>");
});

test("[console §1] a page is read once", async () => {
  const page = join(directory, "errors.html");
  const { text } = await send(`${origin}/docs/errors`);
  await writeFile(page, "changed");
  expect((await send(`${origin}/docs/errors`)).text).toBe(text);
});

test.each([
  ["createKey", "reference/keys.createKey", ""],
  ["create key", "reference/keys.createKey", ""],
  ["key_not_found", "errors/unkey/data/key_not_found", ""],
  ["key not found deleted", "errors/unkey/data/key_not_found", "cause"],
  ["externalid customer", "reference/keys.createKey", "fields"],
  ["verifed machin", "getting-started", ""],
  ["übersicht", "%C3%BCbersicht", ""],
])("[console §1] a search for %j finds %s first", async (query, path, slug) => {
  const search = await openSearch();
  expect(search(query)[0]?.section).toMatchObject({ path, slug });
});

test("[console §1] a result shows the words in context, without marks of Markdown or HTML", async () => {
  const search = await openSearch();
  const excerpt = (query: string) =>
    search(query)
      .slice(0, 1)
      .flatMap(({ section, words }) => excerptOf(section.text, words));
  const pieces = excerpt("customer");
  const found = pieces.findIndex(({ isFound }) => isFound);
  expect(pieces[found]?.text).toBe("customer");
  expect(pieces[found - 1]?.text).toMatch(/the number of a $/);
  const textOf = (query: string) =>
    excerpt(query)
      .map(({ text }) => text)
      .join("");
  expect(textOf("alert heading")).not.toContain("<b>");
  expect(textOf("secret root")).toContain("secret");
  expect(textOf("secret root")).not.toContain("[!");
});

test("[console §1] nothing is found for what no page says", async () => {
  const search = await openSearch();
  expect(search("zzzqqq")).toEqual([]);
  expect(search("\u{1f600} \ud800 ...")).toEqual([]);
});
