// @same-on-every-engine
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { aroundStore } from "../../../src/platform/storage/decorators/aroundStore.ts";
import { StoreUnavailableError } from "../../../src/platform/storage/port/errors.ts";
import { type Api, type StartOptions, startApi } from "../../support/api.ts";
import { failureOf, openBrowser, rpcPath, send } from "../../support/browser.ts";
import { createCertificate } from "../../support/certificate.ts";
import { type Engine, engines } from "../../support/stores.ts";

const start = async (engine: Engine, options: StartOptions): Promise<Api> => {
  const api = await startApi(engine, options);
  onTestFinished(api.close);
  return api;
};

const refused = (words: string) => ({
  code: "permission_denied",
  type: "unkey/console/request_refused",
  message: expect.stringContaining(words),
});
const needsTls = refused("set TLS_CERT and TLS_KEY, or TRUSTED_PROXIES with X-Forwarded-Proto");

describe.each(engines)("connections of the console on $name", (engine) => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-console-"));
  });
  afterAll(async () => {
    await engine.close();
    await rm(directory, { recursive: true });
  });

  test("[console §2.2] on loopback over plain HTTP the cookie has the port in its name and is not Secure", async () => {
    const api = await start(engine, {});
    const answer = await openBrowser(api.url).signIn(api.rootKey);
    const port = new URL(api.url).port;
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(`^latchkey-${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/$`),
    ]);
    expect(answer.headers["strict-transport-security"]).toBeUndefined();
  });

  test("[console §2.2] with TLS it is __Host-latchkey, Secure", async () => {
    const { cert, key } = createCertificate(directory);
    const api = await start(engine, { env: { TLS_CERT: cert, TLS_KEY: key } });
    const browser = openBrowser(api.url);
    const answer = await browser.signIn(api.rootKey);
    expect(answer.headers["set-cookie"]).toEqual([
      expect.stringMatching(/^__Host-latchkey=[\w-]{43}; Secure; HttpOnly; SameSite=Strict; Path=\/$/),
    ]);
    expect((await browser.call("ApisService.ListApis")).status).toBe(200);
    // Not on a name of the machine itself, whose other ports need not speak TLS.
    expect(answer.headers["strict-transport-security"]).toBeUndefined();
    const taken = await browser.call("SignOut");
    expect(taken.headers["set-cookie"]).toEqual(["__Host-latchkey=; Max-Age=0; Secure; HttpOnly; SameSite=Strict; Path=/"]);
  });

  test("[console §2.2] over HTTP/2 with TLS, as browsers speak, it is the same", async () => {
    const { cert, key } = createCertificate(directory);
    const api = await start(engine, { env: { TLS_CERT: cert, TLS_KEY: key } });
    const session = connectHttp2(api.url, { rejectUnauthorized: false });
    onTestFinished(() => session.destroy());
    const call = async (procedure: string, message: object, more = {}) => {
      const stream = session.request({
        ...{ ":method": "POST", ":path": rpcPath(procedure), "content-type": "application/json" },
        ...{ "x-latchkey-ui": "1", "sec-fetch-site": "same-origin", origin: api.url },
        ...more,
      });
      stream.end(JSON.stringify(message));
      const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status"?: number }];
      stream.resume();
      await once(stream, "end");
      return headers;
    };
    const opened = await call("SignIn", { rootKey: api.rootKey });
    expect([opened[":status"], opened["set-cookie"]]).toEqual([200, [expect.stringMatching(/^__Host-latchkey=[\w-]{43}; Secure;/)]]);
    const cookie = opened["set-cookie"]?.[0]?.split(";")[0];
    // HTTP/2 may split the cookies of one request.
    expect((await call("ApisService.ListApis", {}, { cookie: ["theme=dark", String(cookie)] }))[":status"]).toBe(200);
    expect((await call("ApisService.ListApis", {}))[":status"]).toBe(401);
    // A refusal that need not read its body has the headers, too.
    const refusal = await call("ApisService.CreateApi", { name: "x".repeat(3_000_000) });
    expect([refusal[":status"], refusal["cache-control"], refusal["x-frame-options"]]).toEqual([401, "no-store", "DENY"]);
  });

  test("[console §2.2, §2.6] behind a trusted proxy that says https it is the same, with HSTS on a public name", async () => {
    const api = await start(engine, { env: { TRUSTED_PROXIES: "127.0.0.1", PUBLIC_URL: "https://keys.example.com" } });
    const common = {
      host: "keys.example.com",
      origin: "https://keys.example.com",
      "x-forwarded-proto": "https",
      "x-forwarded-for": "203.0.113.9",
    };
    const browser = openBrowser(api.url, common);
    const answer = await browser.signIn(api.rootKey);
    expect(answer.headers["set-cookie"]).toEqual([expect.stringMatching(/^__Host-latchkey=/)]);
    expect(answer.headers["strict-transport-security"]).toBe("max-age=31536000");
    expect((await browser.call("ListSessions")).body.data).toEqual([expect.objectContaining({ address: "203.0.113.9" })]);
    expect((await browser.call("ApisService.ListApis", {}, { host: "KEYS.example.com:443" })).status).toBe(200);
    for (const headers of [
      { origin: api.url },
      { origin: "http://keys.example.com" },
      { host: "keys.example.com:8443" },
      { host: new URL(api.url).host },
    ])
      expect([headers, (await browser.call("ApisService.ListApis", {}, headers)).status]).toEqual([headers, 403]);
    // The cookie of an encrypted connection is none on one that is not.
    expect((await browser.call("ApisService.ListApis", {}, { "x-forwarded-proto": "http" })).status).toBe(401);
  });

  test.each([
    ["a proxy that says http", { TRUSTED_PROXIES: "127.0.0.1" }, { "x-forwarded-proto": "http" }],
    ["a proxy that says both", { TRUSTED_PROXIES: "127.0.0.1" }, { "x-forwarded-proto": "https, http" }],
    ["a proxy that says nothing of it", { TRUSTED_PROXIES: "127.0.0.1" }, { "x-forwarded-for": "203.0.113.9" }],
    ["somebody who is no proxy and says https", {}, { "x-forwarded-proto": "https" }],
    ["somebody with a header Forwarded", {}, { forwarded: "for=203.0.113.9" }],
    ["somebody with a header of that kind", {}, { "x-forwarded-host": "keys.example.com" }],
    [
      "a public name without TLS",
      { PUBLIC_URL: "http://keys.example.com" },
      { host: "keys.example.com", origin: "http://keys.example.com" },
    ],
  ])("[console §2.2] over %s sign-in is refused for every key, and no cookie counts", async (_what, env, headers) => {
    const api = await start(engine, { env });
    const browser = openBrowser(api.url, headers);
    for (const rootKey of [api.rootKey, "lkr_wrong"]) {
      const answer = await browser.signIn(rootKey);
      expect([answer.status, failureOf(answer), answer.headers["set-cookie"]]).toEqual([403, needsTls, undefined]);
    }
    const local = openBrowser(api.url);
    if (!("PUBLIC_URL" in env)) {
      await local.signIn(api.rootKey);
      expect((await local.call("ApisService.ListApis", {}, headers)).status).toBe(401);
      expect((await local.call("ApisService.ListApis")).status).toBe(200);
    }
  });

  test("[console §1] CONSOLE=off: all of it is 404 as any unknown path", async () => {
    const api = await start(engine, { env: { CONSOLE: "off" } });
    for (const path of ["/", "/ui", "/ui/", "/ui/a/x.js", "/ui/rpc/latchkey.console.v1.ConsoleService/SignIn"]) {
      for (const method of ["GET", "POST"]) {
        const headers = { "content-type": "application/json", accept: "text/html" };
        const [answer, unknown] = await Promise.all([path, "/nowhere"].map((each) => send(api.url + each, { method, headers })));
        expect([answer?.status, answer?.body.error, Object.keys(answer?.headers ?? {})]).toEqual([
          404,
          unknown?.body.error,
          Object.keys(unknown?.headers ?? {}),
        ]);
      }
    }
  });

  test("[console §1] with PUBLIC_URL a browser that opens / is sent to the console there, by whatever name it came", async () => {
    const api = await start(engine, { env: { PUBLIC_URL: "https://keys.example.com", CONSOLE: "on" } });
    for (const host of ["keys.example.com", "other.example.com", new URL(api.url).host]) {
      const answer = await send(`${api.url}/`, { headers: { accept: "text/html", host } });
      expect([host, answer.status, answer.headers.location]).toEqual([host, 303, "https://keys.example.com/ui"]);
    }
  });

  test("[console §1] CONSOLE_PORT: it is there, and nowhere else", async () => {
    const api = await start(engine, { env: { CONSOLE_PORT: "0" } });
    const url = new URL(api.consoleUrl ?? "").origin;
    expect(url).not.toBe(api.url);
    const browser = openBrowser(url);
    expect((await browser.signIn(api.rootKey)).status).toBe(200);
    expect((await browser.call("ApisService.ListApis")).status).toBe(200);
    expect((await openBrowser(api.url).signIn(api.rootKey)).status).toBe(404);
    const opened = await Promise.all([url, api.url].map((each) => send(`${each}/`, { headers: { accept: "text/html" } })));
    expect(opened.map(({ status, headers: { location } }) => [status, location])).toEqual([
      [303, "/ui"],
      [404, undefined],
    ]);
    const headers = { "content-type": "application/json", authorization: `Bearer ${api.rootKey}` };
    for (const path of ["/v2/apis.listApis", "/latchkey.v2.ApisService/ListApis"])
      expect((await send(url + path, { method: "POST", headers, body: "{}" })).status).toBe(404);
  });

  test("[console §2.7] while the store is down sign-in is 503, and counts as no failure", async () => {
    let isAway = false;
    const inner = await engine.open();
    const around = aroundStore(inner, async (_operation, run) => {
      if (isAway) throw new StoreUnavailableError("away");
      return run();
    });
    const store = { ...inner, ...around };
    const api = await start(engine, { store });
    const browser = openBrowser(api.url);
    await browser.signIn(api.rootKey);
    isAway = true;
    for (let i = 0; i < 12; i++) expect((await browser.signIn("lkr_wrong")).status).toBe(503);
    expect((await browser.call("ApisService.ListApis")).status).toBe(503);
    isAway = false;
    await expect.poll(async () => (await browser.call("ApisService.ListApis")).status).toBe(200);
    expect((await browser.signIn(api.rootKey)).status).toBe(200);
  });

  test("[console §1] the management limit counts calls of sessions, and no stranger's", async () => {
    const api = await start(engine, { env: { MANAGEMENT_RATE_LIMIT: "3" } });
    const browser = openBrowser(api.url);
    for (let i = 0; i < 6; i++) await openBrowser(api.url).call("SignOut");
    expect((await browser.signIn(api.rootKey)).status).toBe(200);
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await browser.call("ApisService.ListApis")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});
