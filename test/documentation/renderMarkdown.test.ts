import { describe, expect, test } from "vitest";
import { parsePage } from "../../docs/build/site/parsePage.ts";
import type { Document, Documents } from "../../docs/build/site/readDocuments.ts";
import { renderMarkdown } from "../../docs/build/site/renderMarkdown.ts";

const pages = ["README.md", "guide.md", "reference/README.md", "reference/keys.createKey.md", "a b.md"].map(
  (file): Document => ({ file, path: file.replace(/\.md$/, "").replace(/\/?README$/, ""), title: file, text: "" }),
);
const documents: Documents = {
  pages: new Map(),
  pagesByFile: new Map(pages.map((page) => [page.file, page])),
  pictures: new Set(["pictures/x.png"]),
};
const html = (markdown: string, file = "reference/keys.createKey.md") => renderMarkdown(parsePage(markdown), file, documents).trim();

describe("[console §1] a link in a page", () => {
  test.each([
    ["../guide.md", "/docs/guide"],
    ["../guide.md#a-b", "/docs/guide#a-b"],
    ["./README.md", "/docs/reference"],
    ["../reference/", "/docs/reference"],
    [".", "/docs/reference"],
    ["../README.md#x", "/docs#x"],
    ["keys.createKey.md", "/docs/reference/keys.createKey"],
    ["#fields", "#fields"],
    ["../openapi.json", "/openapi.json"],
    ["https://example.com/a?b=c", "https://example.com/a?b=c"],
    ["mailto:a@example.com", "mailto:a@example.com"],
    ["../a%20b.md", "/docs/a b"],
  ])("to %s leads to %s", (href, address) => {
    expect(html(`[text](${href})`)).toContain(`<a href="${address}"`);
  });

  test.each([
    "../../README.md",
    "../../src/main.ts",
    "missing.md",
    "../../../../etc/passwd",
    "/etc/passwd",
    "//example.com",
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    "java&#115;cript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "%ZZ.md",
    "../pictures/x.png",
  ])("to %s is text, since nothing of the kind is served", (href) => {
    expect(html(`[text](${href})`)).not.toContain("<a ");
    expect(html(`[text](${href})`)).toContain(">text</span>");
  });
});

test("[console §1] pictures come from here alone: those of other sites, and missing ones, are their words", () => {
  expect(html('![A & B](../pictures/x.png "t")')).toBe('<p><img src="/docs/pictures/x.png" alt="A &amp; B" title="t" loading="lazy"></p>');
  for (const href of ["https://example.com/x.png", "//example.com/x.png", "data:image/png;base64,AA", "../pictures/y.png"]) {
    expect(html(`![words](${href})`)).not.toContain("<img");
    expect(html(`![words](${href})`)).toContain("words");
  }
});

test("[console §1] HTML in Markdown is text, but for comments, which are left out, and line breaks", () => {
  expect(html("<script>alert(1)</script>")).toBe("&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(html('a <img src=x onerror="alert(1)"> b')).toBe("<p>a &lt;img src=x onerror=&quot;alert(1)&quot;&gt; b</p>");
  // marked takes the text in such an element for HTML that was escaped already.
  for (const attack of ["<kbd>a <img src=x onerror=alert(1) //", "<pre>\n<img src=x onerror=alert(1) //", "a <code><svg onload=x"])
    expect(html(attack)).not.toMatch(/<(kbd|img|svg|code)/);
  expect(html("<!-- made by a command -->\n\ntext")).toBe("<p>text</p>");
  expect(html("a<br>b")).toBe("<p>a<br>b</p>");
  expect(html("a &amp; b &lt;c&gt; & d")).toBe("<p>a &amp; b &lt;c&gt; &amp; d</p>");
  expect(html('[x](https://example.com/"onclick="x)')).not.toContain('"onclick');
  expect(html('```js"><script>\n<b>\n```')).toContain("&lt;b&gt;");
});

test("[console §1] headings have the anchors that they have on GitHub", () => {
  const markdown = "# Title\n## What `createKey` does, & why?\n## A – b\n## Same\n## Same\n### 1.2 [Link](../guide.md)\n## ";
  const { headings } = parsePage(markdown);
  expect([...headings.values()].map(({ slug }) => slug)).toEqual([
    "title",
    "what-createkey-does--why",
    "a--b",
    "same",
    "same-1",
    "12-link",
    "",
  ]);
  expect(html(markdown)).toContain('<h2 id="same-1"><a href="#same-1">Same</a></h2>');
  // A link in a link is none.
  expect(html(markdown)).toContain('<h3 id="12-link">1.2 <a href="/docs/guide">Link</a></h3>');
});

test("[console §1] tables and code take the focus, which is what scrolls them by keyboard; notes say what they are", () => {
  const table = html("| A | |\n|---|--:|\n| `x` | 1 |");
  expect(table).toContain('<div class="table" role="group" tabindex="0" aria-label="Table: A">');
  expect(table).toContain('<tr><th scope="col">A</th><td class="to-right"></td></tr>');
  expect(html("```sh\na < b\n```")).toBe('<pre tabindex="0" class="source"><code>a &lt; b\n</code></pre>');
  expect(html("```\na\n```")).toBe('<pre tabindex="0"><code>a\n</code></pre>');
  expect(html("> [!NOTE]\n> Some **text**.")).toContain(
    '<div class="note note" role="note"><p><strong>Note</strong></p>\n<p>Some <strong>text',
  );
  expect(html("> text")).toContain("<blockquote>");
  expect(html("- [x] done\n- [ ] not")).not.toContain("<input");
});
