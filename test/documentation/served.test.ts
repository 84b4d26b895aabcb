// @same-on-every-engine
import { rm } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange, parseResponse } from "../rpc/support/rawConnection.ts";
import { type Api, startApi } from "../support/api.ts";
import { openBrowser, send } from "../support/browser.ts";
import { engines } from "../support/stores.ts";
import { writeDocumentation } from "../support/writeDocumentation.ts";

const security = {
  "content-security-policy":
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
};
const searchPolicy =
  "default-src 'none'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
const html = "text/html; charset=utf-8";

// No store is asked for any of this.
const [engine] = engines;
let documentationFiles: string;
let api: Api;

const start = async (env: Readonly<Record<string, string>> = {}, directory = documentationFiles): Promise<Api> => {
  if (engine === undefined) throw new Error("there is no engine");
  return startApi(engine, { env, documentationFiles: directory });
};

beforeAll(async () => {
  documentationFiles = await writeDocumentation();
  api = await start();
});
afterAll(async () => {
  await api.close();
  await engine?.close();
  await rm(dirname(documentationFiles), { recursive: true });
});

const get = (path: string, headers = {}) => send(api.url + path, { headers });

/** Asks for a path as it stands: client libraries tidy some up. */
const expectNoPage = async (path: string): Promise<void> => {
  const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  const { status, headers, body } = parseResponse((await exchange(Number(new URL(api.url).port), request)).text);
  expect(status).toBe(404);
  expect(Object.fromEntries(headers)).toMatchObject({ ...security, "content-type": html, "cache-control": "no-cache" });
  expect(body).toContain('<form action="/docs" role="search">');
  expect(body).toContain("<h1>Page not found</h1>");
  expect(body).not.toMatch(/Secret of the parent|Hidden/);
};

describe("the documentation", () => {
  test.each([
    ["/docs", "Latchkey documentation", "Everything about Latchkey"],
    ["/docs/", "Latchkey documentation", "Everything about Latchkey"],
    ["/docs?", "Latchkey documentation", "Everything about Latchkey"],
    ["/docs?q=", "Latchkey documentation", "Everything about Latchkey"],
    ["/docs?q=%20", "Latchkey documentation", "Everything about Latchkey"],
    ["/docs/getting-started", "Getting started · Latchkey documentation", "first verified key"],
    ["/docs/getting-started?q=key", "Getting started · Latchkey documentation", "first verified key"],
    ["/docs/reference", "Procedures · Latchkey documentation", "All procedures"],
    ["/docs/reference/keys.createKey", "keys.createKey · Latchkey documentation", "Create an API key"],
    ["/docs/errors/unkey/data/key_not_found", "key_not_found · Latchkey documentation", "No key has this id."],
    ["/docs/%C3%BCbersicht", "Übersicht · Latchkey documentation", "A page with another name."],
  ])("[console §1] %s is the page “%s”, without credentials", async (path, title, words) => {
    const answer = await get(path);
    expect(answer.status).toBe(200);
    expect(answer.text).toContain(`<title>${title}</title>`);
    expect(answer.text).toContain(words);
    expect(answer.headers).toMatchObject({ ...security, "content-type": html, "cache-control": "no-cache", vary: "accept-encoding" });
  });

  test("[console §1] a page asks for nothing of another host, and has no script", async () => {
    const { text } = await get("/docs/getting-started");
    const addresses = [...text.matchAll(/ (?:src|href|action)="([^"]*)"/g)].map(([, address = ""]) => address);
    expect(addresses.filter((address) => !/^(\/docs|#)/.test(address))).toEqual([]);
    expect(text).not.toMatch(/<script|<style| style=| on\w+=/i);
    expect(text).not.toContain("Nobody sees this");
    expect(text).toContain("&lt;script&gt;");
    for (const address of addresses.filter((each) => each.startsWith("/docs")))
      expect([address, (await get(address)).status]).toEqual([address, 200]);
  });

  test("[console §1] a search is answered with a page whose script and index come from here, whatever is searched for", async () => {
    const { status, text, headers } = await get("/docs?q=key");
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      ...security,
      "content-type": html,
      "cache-control": "no-cache",
      "content-security-policy": searchPolicy,
    });
    for (const query of ["limit", "%3Cscript%3Ealert(1)", "x".repeat(8_000)]) expect((await get(`/docs?q=${query}`)).text).toBe(text);
    const tag = { "if-none-match": headers.etag };
    expect(await get("/docs?q=limit", tag)).toMatchObject({ status: 304, headers: { "content-security-policy": searchPolicy } });
    expect([...text.matchAll(/<script[^>]*>/g)].map(([tag]) => tag)).toEqual([
      expect.stringMatching(/^<script type="module" src="\/docs\/a\/[0-9a-f]{12}-search\.js">$/),
    ]);
    for (const [pattern, type] of [
      [/ src="([^"]*)"/, "text/javascript; charset=utf-8"],
      [/ data-sections="([^"]*)"/, "application/json"],
    ] as const) {
      const { headers } = await get(pattern.exec(text)?.[1] ?? "");
      expect(headers).toMatchObject({ "content-type": type, "cache-control": "public, max-age=31536000, immutable" });
    }
  });

  test("[console §1] without scripts, a search leads to the lists of pages", async () => {
    const { text } = await get("/docs?q=key");
    expect(text).toMatch(/<noscript>.*<a href="\/docs">the index<\/a>.*<\/noscript>/);
    expect(text).toContain('<nav class="index" aria-label="All pages">');
  });

  test("[console §1] the index is next to each page, with the page's own headings and its path", async () => {
    const { text } = await get("/docs/reference/keys.createKey");
    const index = text.slice(text.indexOf('<nav class="index"'), text.indexOf("<main"));
    expect([...index.matchAll(/<a href="([^"]*)"([^>]*)>([^<]*)/g)].map(([, ...parts]) => parts)).toEqual([
      ["/docs/getting-started", "", "Getting started"],
      ["/docs/reference", ' aria-current="true"', "Procedures"],
      ["/docs/errors", "", "Errors"],
    ]);
    expect(text).toContain('<li><a href="/docs">Documentation</a></li>');
    expect(text).toContain('<li><a href="/docs/reference">Procedures</a></li><li aria-current="page">keys.createKey</li>');
    expect(text).toContain('<li class="depth-2"><a href="#fields">Fields</a></li>');
    const error = await get("/docs/errors/unkey/data/key_not_found");
    expect(error.text).toContain('<li><a href="/docs/errors">Errors</a></li><li>unkey</li><li>data</li>');
  });

  test("[console §1] files that a browser has are not sent again", async () => {
    for (const path of ["/docs", "/docs/getting-started", "/docs/pictures/console.png"]) {
      const { headers } = await get(path);
      for (const tag of [headers.etag, `"other", ${headers.etag}`, "*"]) {
        const again = await get(path, { "if-none-match": tag });
        expect([again.status, again.text, again.headers.etag]).toEqual([304, "", headers.etag]);
        expect(again.headers).toMatchObject({ ...security, "cache-control": "no-cache" });
      }
      for (const tag of ['"other"', "", "W/", "x".repeat(8_000)]) expect((await get(path, { "if-none-match": tag })).status).toBe(200);
    }
  });

  test("[console §1] the stylesheet and the icon have their hash in their address and never change; pages are compressed", async () => {
    const { text } = await get("/docs");
    for (const [pattern, type] of [
      [/rel="stylesheet" href="([^"]*)"/, "text/css; charset=utf-8"],
      [/rel="icon" href="([^"]*)"/, "image/svg+xml"],
    ] as const) {
      const [, address = ""] = pattern.exec(text) ?? [];
      expect(address).toMatch(/^\/docs\/a\/[0-9a-f]{12}-/);
      expect((await get(address)).headers).toMatchObject({
        ...security,
        "content-type": type,
        "cache-control": "public, max-age=31536000, immutable",
      });
    }
    const answer = await fetch(`${api.url}/docs`, { headers: { "accept-encoding": "gzip" } });
    expect([answer.headers.get("content-encoding"), await answer.text()]).toEqual(["gzip", text]);
  });

  test.each([
    ["/docs/README", "/docs"],
    ["/docs/README.md", "/docs"],
    ["/docs/getting-started.md", "/docs/getting-started"],
    ["/docs/getting-started/", "/docs/getting-started"],
    ["/docs/reference/README.md", "/docs/reference"],
    ["/docs/reference/", "/docs/reference"],
    ["/docs/configuration", "/docs/reference/settings"],
    ["/docs/configuration.md", "/docs/reference/settings"],
  ])("[console §1] %s, moved or as it is written in the repository, leads to %s", async (path, address) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.location]).toEqual([308, address]);
    expect(answer.headers).toMatchObject(security);
  });

  test.each([
    "/docs/nothing",
    "/docs/errors/unkey/data/no_such_error",
    "/docs/internals/caches",
    "/docs///",
    "/docs//getting-started",
    "/docs/Getting-started",
    "/docs/getting-started%2Emd",
    "/docs/reference%2Fkeys.createKey",
    "/docs/reference%5Ckeys.createKey",
    "/docs/../ARCHITECTURE",
    "/docs/../ARCHITECTURE.md",
    "/docs/%2e%2e/ARCHITECTURE",
    "/docs/..%2fARCHITECTURE.md",
    "/docs/....//ARCHITECTURE.md",
    "/docs/reference/../getting-started",
    "/docs/linked",
    "/docs/linked.md",
    "/docs/linked.html",
    "/docs/getting-started.html",
    "/docs/index",
    "/docs/_search",
    "/docs/_not-found",
    "/docs/licences.txt",
    "/docs/above/ARCHITECTURE",
    "/docs/.hidden",
    "/docs/script.js",
    "/docs/openapi.json",
    "/docs/pictures",
    "/docs/a/",
    "/docs/a/docs.css",
    "/docs/__proto__",
    "/docs/constructor",
    "/docs/getting-started%00",
    "/docs/%00",
    "/docs/%",
    "/docs/%ff%fe",
    "/docs/u%CC%88bersicht",
  ])("[console §1] %s is a page that says there is none, with the search", expectNoPage);

  test("[console §1] so is what a very long path leads to", async () => {
    for (const part of ["a/", "/", "%2e", "../", ".md"]) await expectNoPage(`/docs/${part.repeat(15_000 / part.length)}x`);
  });

  test("[console §1] bytes that no client library sends get an answer, or none that is an error of the service", async () => {
    const port = Number(new URL(api.url).port);
    for (const target of ["/docs/\u00fc", "/docs/x\ty", "/docs/\\..\\x", "/docs?q=\u00fc%", "/docs#x", "/docs;x=1"]) {
      const { text } = await exchange(port, Buffer.from(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`, "latin1"));
      expect(text).toMatch(/^HTTP\/1\.1 (200|400|404) /);
    }
  });

  test("[console §1] HEAD is answered as GET without a body, anything else is 405", async () => {
    for (const path of ["/docs", "/docs/getting-started", "/docs/nothing", "/docs?q=key"]) {
      const [whole, head] = [await get(path), await send(api.url + path, { method: "HEAD" })];
      expect([head.status, head.text, head.headers["content-length"]]).toEqual([whole.status, "", whole.headers["content-length"]]);
    }
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await send(`${api.url}/docs`, { method, body: "x".repeat(100_000) });
      expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"]);
      expect(answer.headers).toMatchObject(security);
    }
  });

  test("[console §1] over HTTP/2 they are the same", async () => {
    const session = connectHttp2(api.url);
    const read = (path: string): Promise<readonly [status: unknown, text: string]> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ":path": path }).setEncoding("utf8").on("error", reject);
        let status: unknown;
        let text = "";
        stream.on("response", (headers) => {
          status = headers[":status"];
        });
        stream.on("data", (chunk: string) => {
          text += chunk;
        });
        stream.on("end", () => resolve([status, text]));
      });
    expect(await read("/docs")).toEqual([200, (await get("/docs")).text]);
    expect((await read("/docs/nothing"))[0]).toBe(404);
    session.close();
  });

  test("[console §1] a path that only shares the prefix is not the documentation", async () => {
    for (const path of ["/docsx", "/docs.md", "/DOCS", "/doc", "/docs%2f", "/v2/docs", "/"]) {
      const answer = await get(path);
      expect([answer.status, answer.headers["content-type"]]).toEqual([404, "application/json"]);
    }
  });
});

describe("[protocol §5] the link in an error", () => {
  test("opens its page", async () => {
    const { type } = (await send(`${api.url}/v2/nowhere`)).body.error;
    expect(type).toBe(`${api.url}/docs/errors/unkey/application/procedure_not_found`);
    const signIn = await openBrowser(api.url).signIn("lkr_wrong");
    expect(signIn.text).toContain(`${api.url}/docs/errors/unkey/console/sign_in_failed`);
    // This small documentation has one of them.
    const { text } = await get("/docs/errors/unkey/data/key_not_found");
    expect(text).toContain('<h2 id="what-to-do">');
  });
});

test("[console §1] [protocol §5] all addresses of a machine are `localhost` in errors; with DOCS=off /docs is one that does not exist", async () => {
  const other = await start({ HOST: "0.0.0.0", DOCS: "off" });
  try {
    const { port } = new URL(other.url);
    for (const path of ["/docs", "/docs/getting-started", "/docs?q=key"]) {
      const answer = await send(`http://127.0.0.1:${port}${path}`);
      const { type } = answer.body.error;
      expect([answer.status, answer.headers["content-type"]]).toEqual([404, "application/json"]);
      expect(type).toBe(`http://localhost:${port}/docs/errors/unkey/application/procedure_not_found`);
    }
    expect(other.errorsBaseUrl).toBe(`http://localhost:${port}/docs`);
  } finally {
    await other.close();
  }
});

test("[console §1] a console with a port of its own has the documentation, too; an installation without any says so", async () => {
  const other = await start({ CONSOLE_PORT: "0" }, `${documentationFiles}/nowhere`);
  try {
    for (const origin of [other.url, new URL(other.consoleUrl ?? "").origin]) {
      const answer = await send(`${origin}/docs`);
      expect(answer.status).toBe(404);
      expect(answer.headers).toMatchObject(security);
      expect(answer.text).toBe("The documentation was not built: docs/dist/index.html is missing in this installation.\n");
    }
  } finally {
    await other.close();
  }
});

test("[console §1] a checkout has the documentation without a build of it", async () => {
  if (engine === undefined) throw new Error("there is no engine");
  const other = await startApi(engine);
  try {
    for (const path of ["/docs", "/docs/getting-started", "/docs/errors/unkey/data/key_not_found", "/docs?q=key"])
      expect([path, (await send(other.url + path)).status]).toEqual([path, 200]);
  } finally {
    await other.close();
  }
});
