import { expect, test } from "vitest";
import { createSearchIndex } from "../../src/documentation/searchIndex.ts";

test("[console §1] of pages that say the same a guide is found first, then a page of reference, then specification and index", async () => {
  const paths = ["", "contract/limits", "reference/limits", "limits"];
  const pages = paths.map((path) => ({ file: `${path}.md`, path, title: "Limits", text: "# Limits\n\nHow a limit counts." }));
  const search = await createSearchIndex(pages);
  expect(search("limit counts").map(({ href }) => href)).toEqual([
    "/docs/limits",
    "/docs/reference/limits",
    "/docs",
    "/docs/contract/limits",
  ]);
});
