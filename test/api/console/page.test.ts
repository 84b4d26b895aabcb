// @same-on-every-engine
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange, parseResponse } from "../../rpc/support/rawConnection.ts";
import { type Api, startApi } from "../../support/api.ts";
import { openBrowser, send } from "../../support/browser.ts";
import { engines } from "../../support/stores.ts";

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; object-src 'none'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const security = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-frame-options": "DENY",
};

// No store is asked for any of this.
const [engine] = engines;

describe("the page of the console", () => {
  let directory: string;
  let api: Api;
  beforeAll(async () => {
    if (engine === undefined) throw new Error("there is no engine");
    directory = await mkdtemp(join(tmpdir(), "latchkey-page-"));
    await mkdir(join(directory, "a", "folder.js"), { recursive: true });
    const files = {
      "index.html": "<!doctype html>page",
      "secret.txt": "not served",
      "manifest.json": "{}",
      "a/main-abc123.js": "plain()",
      "a/main-abc123.js.br": "as brotli",
      "a/main-abc123.js.gz": "as gzip",
      "a/style-def456.css": "p{}",
      "a/icon.svg": "<svg/>",
      "a/odd.bin": "?",
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    api = await startApi(engine, { consoleFiles: directory });
  });
  afterAll(async () => {
    await api.close();
    await engine?.close();
    await rm(directory, { recursive: true });
  });
  const get = (path: string, headers = {}) => send(api.url + path, { headers });

  test.each([
    "/ui",
    "/ui/",
    "/ui?x=1",
    "/ui/sign-in",
    "/ui/identities/user.name@example.com",
    "/ui/keys/key_1?tab=audit",
    "/ui/a",
    "/ui/secret.txt",
    "/ui/manifest.json",
    "/ui/..%2f..%2fetc/passwd",
    "/ui/rpc",
  ])("[console §1] %s is the page", async (path) => {
    const answer = await get(path);
    expect([answer.status, answer.text]).toEqual([200, "<!doctype html>page"]);
    expect(answer.headers).toMatchObject({ ...security, "content-type": "text/html; charset=utf-8", "cache-control": "no-cache" });
  });

  test.each([
    ["main-abc123.js", "text/javascript; charset=utf-8", "plain()"],
    ["style-def456.css", "text/css; charset=utf-8", "p{}"],
    ["icon.svg", "image/svg+xml", "<svg/>"],
    ["odd.bin", "application/octet-stream", "?"],
  ])("[console §1] /ui/a/%s never changes", async (name, type, text) => {
    const answer = await get(`/ui/a/${name}`);
    expect([answer.status, answer.text, answer.headers["content-encoding"]]).toEqual([200, text, undefined]);
    expect(answer.headers).toMatchObject({
      ...security,
      "content-type": type,
      "cache-control": "public, max-age=31536000, immutable",
      vary: "accept-encoding",
    });
  });

  test.each([
    ["br", "br", "as brotli"],
    ["gzip, deflate, br;q=0.9", "br", "as brotli"],
    ["gzip, deflate", "gzip", "as gzip"],
    ["BR", "br", "as brotli"],
    ["br;q=0, gzip", "gzip", "as gzip"],
    ["identity", undefined, "plain()"],
    ["", undefined, "plain()"],
    ["brotli", undefined, "plain()"],
  ])("[console §1] for Accept-Encoding %j it is sent in the form made at build time", async (accepted, encoding, text) => {
    const answer = await get("/ui/a/main-abc123.js", { "accept-encoding": accepted });
    expect([answer.status, answer.headers["content-encoding"], answer.text]).toEqual([200, encoding, text]);
    expect(answer.headers["content-type"]).toBe("text/javascript; charset=utf-8");
    expect(answer.headers["content-length"]).toBe(String(text.length));
  });

  test.each([
    "nothing.js",
    "",
    "main-abc123.js/",
    "main-abc123.js.br",
    "folder.js",
    "..%2findex.html",
    "__proto__",
    "constructor",
    "MAIN-ABC123.js",
  ])("[console §1] /ui/a/%s is 404", async (name) => {
    const answer = await get(`/ui/a/${name}`);
    expect(answer.status).toBe(404);
    expect(answer.headers).toMatchObject({ ...security, "cache-control": "no-store" });
  });

  test("[console §1] HEAD is answered as GET without a body, anything else is 405", async () => {
    for (const path of ["/ui", "/ui/a/main-abc123.js"]) {
      const [whole, head] = [await get(path), await send(api.url + path, { method: "HEAD" })];
      expect([head.status, head.text, head.headers["content-length"]]).toEqual([200, "", whole.headers["content-length"]]);
      for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
        const answer = await send(api.url + path, { method, body: "x".repeat(100_000) });
        expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD"]);
        expect(answer.headers).toMatchObject(security);
      }
    }
  });

  test("[console §1] a path that only shares the prefix is not the console's", async () => {
    for (const path of ["/uix", "/ui.html", "/UI"]) {
      const answer = await get(path);
      expect([answer.status, answer.headers["content-security-policy"]]).toEqual([404, undefined]);
    }
  });

  test.each(["/", "/?utm_source=mail"])("a browser that opens %s is sent to the console", async (path) => {
    for (const method of ["GET", "HEAD"]) {
      const accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
      const answer = await send(api.url + path, { method, headers: { accept } });
      expect([answer.status, answer.headers.location, answer.text]).toEqual([303, "/ui", ""]);
      expect(answer.headers).toMatchObject({ ...security, "cache-control": "no-store", vary: "accept" });
    }
  });

  test("[protocol §1] / is 404 for programs, for other methods and with anything appended", async () => {
    const html = { accept: "text/html" };
    for (const [path, options] of [
      ["/", {}],
      ["/", { headers: { accept: "*/*" } }],
      ["/", { headers: { accept: "application/json" } }],
      ["/", { method: "POST", headers: html }],
      ["/x", { headers: html }],
      ["//", { headers: html }],
    ] as const) {
      const { status, text } = await send(api.url + path, options);
      expect([status, text]).toEqual([404, expect.stringMatching(/\/procedure_not_found"/)]);
    }
  });

  test("[console §2.6] every answer below /ui has these headers, those of procedures no-store as well", async () => {
    const browser = openBrowser(api.url);
    const answers = [
      await browser.signIn(api.rootKey),
      await browser.call("ApisService.ListApis"),
      await browser.call("ApisService.GetApi", {}),
      await browser.call("ApisService.GetApi", { apiId: "api_unknown" }),
      await browser.call("ApisService.GetApi", {}, { cookie: undefined }),
      await browser.call("SignIn", { rootKey: "lkr_wrong" }),
      await browser.call("ApisService.NoSuch"),
      await browser.call("ApisService.ListApis", {}, { "content-type": "text/plain" }),
      await browser.call("ApisService.ListApis", {}, { "sec-fetch-site": "cross-site" }),
      await browser.call("ApisService.ListApis", {}, { host: "evil.example" }),
      await browser.call("ApisService.ListApis", {}, { authorization: "Bearer x" }),
      await browser.call("ApisService.ListApis", {}, {}, { method: "GET" }),
      await browser.call("ApisService.ListApis", {}, {}, { body: "x".repeat(11_000_000) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 404, 401, 401, 404, 415, 403, 403, 401, 405, 429]);
    for (const { status, headers } of answers) expect({ status, ...headers }).toMatchObject({ ...security, "cache-control": "no-store" });
    // No other origin reads anything of it.
    for (const { headers } of answers) expect(Object.keys(headers).filter((name) => name.startsWith("access-control-"))).toEqual([]);
  });

  test.each([
    ["a header that is none", "POST /ui/rpc/x HTTP/1.1\r\nhost: localhost\r\nno header\r\n\r\n"],
    ["headers that are too large", `GET /ui HTTP/1.1\r\nhost: localhost\r\nx: ${"x".repeat(20_000)}\r\n\r\n`],
    [
      "a body that is not framed as its headers say",
      "POST /ui/rpc/x HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nz\r\n",
    ],
  ])("[console §2.6] %s is answered with these headers, too", async (_, text) => {
    const { port } = new URL(api.url);
    const { status, headers } = parseResponse((await exchange(Number(port), text)).text);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(Object.fromEntries(headers)).toMatchObject({ ...security, "cache-control": "no-store" });
  });

  test("[console §1] without built files a sentence says so, and the procedures are served", async () => {
    if (engine === undefined) return;
    const bare = await startApi(engine, { consoleFiles: join(directory, "nowhere") });
    try {
      const answer = await send(`${bare.url}/ui`);
      expect([answer.status, answer.text]).toEqual([
        404,
        "The page of the console was not built: ui/dist/index.html is missing in this installation.\n",
      ]);
      expect((await openBrowser(bare.url).signIn(bare.rootKey)).status).toBe(200);
    } finally {
      await bare.close();
    }
  });
});
