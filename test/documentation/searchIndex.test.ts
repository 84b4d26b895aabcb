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

const pageOf = (path: string, title: string, text: string) => ({ file: `${path}.md`, path, title, text: `# ${title}\n\n${text}` });

test("[console §1] a question is searched by the words that tell something", async () => {
  const search = await createSearchIndex([
    pageOf("identities", "Identities", "Limits over many keys of one user."),
    pageOf("backup", "Backup", "How do I do it? I do a backup."),
  ]);
  expect(search("how do I limit a user over many keys").map(({ href }) => href)).toEqual(["/docs/identities"]);
  expect(search("how do").map(({ href }) => href)).toEqual(["/docs/backup"]);
});

test("[console §1] pages that have some of the words follow those that have all", async () => {
  const search = await createSearchIndex([
    pageOf("nginx", "Nginx", "Certificates."),
    pageOf("proxies", "Proxies", "Nginx and its timeouts."),
  ]);
  expect(search("nginx timeouts").map(({ href }) => href)).toEqual(["/docs/proxies", "/docs/nginx"]);
});
