// @same-on-every-engine
import { connect as connectHttp2 } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConsoleService } from "../../../gen/latchkey/console/v1/console_pb.ts";
import { services, testableServices } from "../../../src/service/services.ts";
import { type Api, startApi } from "../../support/api.ts";
import { type Browser, type ConsoleAnswer, failureOf, openBrowser, rpcPath, send } from "../../support/browser.ts";
import { request } from "../../support/envelope.ts";
import { engines } from "../../support/stores.ts";

const seen = (answer: ConsoleAnswer) => [answer.status, failureOf(answer).code, failureOf(answer).type];
const refused = [403, "permission_denied", "unkey/console/request_refused"];

describe.each(engines)("requests of the console on $name", (engine) => {
  let api: Api;
  let browser: Browser;
  beforeAll(async () => {
    api = await startApi(engine);
    browser = openBrowser(api.url);
    await browser.signIn(api.rootKey);
  });
  afterAll(async () => {
    await api.close();
    await engine.close();
  });

  /** A request that only a session makes succeed, so a refusal before that looks the same with and without one. */
  const expectRefused = async (
    headers: Readonly<Record<string, string | undefined>>,
    want: readonly unknown[] = refused,
  ): Promise<void> => {
    for (const cookie of [browser.cookie, undefined, "latchkey=x"])
      expect(seen(await browser.call("ApisService.ListApis", {}, { ...headers, cookie }))).toEqual(want);
    // Signing in, too.
    expect(seen(await browser.call("SignIn", { rootKey: api.rootKey }, headers))).toEqual(want);
  };

  test("[console §2.5] as a browser sends it a request is served", async () => {
    const port = new URL(api.url).port;
    for (const headers of [
      {},
      { origin: undefined },
      { "sec-fetch-site": undefined },
      { "content-type": "application/json; charset=utf-8" },
      { "x-latchkey-ui": "background" },
      { origin: `http://localhost:${port}`, host: `localhost:${port}` },
      { origin: `http://[::1]:${port}`, host: `[::1]:${port}` },
    ])
      expect([headers, (await browser.call("ApisService.ListApis", {}, headers)).status]).toEqual([headers, 200]);
  });

  test.each([
    ["the header x-latchkey-ui is missing", { "x-latchkey-ui": undefined }],
    ["it says something else", { "x-latchkey-ui": "2" }],
    ["it is empty", { "x-latchkey-ui": "" }],
    ["it comes from another site", { "sec-fetch-site": "cross-site" }],
    ["it comes from another origin of the site", { "sec-fetch-site": "same-site" }],
    ["somebody typed the address", { "sec-fetch-site": "none" }],
    ["the origin is another", { origin: "https://evil.example" }],
    ["the origin is opaque", { origin: "null" }],
    ["the origin has another port", { origin: "http://127.0.0.1:1" }],
    ["the origin has another scheme", { origin: "https://127.0.0.1" }],
    ["the origin only begins right", { origin: "http://127.0.0.1.evil.example" }],
    ["another origin, without Sec-Fetch-Site", { "sec-fetch-site": undefined, origin: "https://evil.example" }],
    ["neither Origin nor Sec-Fetch-Site", { "sec-fetch-site": undefined, origin: undefined }],
  ])("[console §2.5] %s: refused before the session is looked at", async (_what, headers) => {
    await expectRefused(headers);
  });

  test.each([
    undefined,
    "",
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/grpc",
    "application/grpc-web+proto",
    "application/connect+json",
    "application/problem+json",
  ])("[console §2.5] the media type %s is 415", async (type) => {
    const answer = await browser.call("ApisService.ListApis", {}, { "content-type": type });
    expect([answer.status, answer.headers["accept-post"]]).toEqual([415, "application/json, application/proto"]);
  });

  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])("[console §2.5] the method %s is 405", async (method) => {
    const answer = await browser.call("ApisService.ListApis", {}, {}, { method, body: "" });
    expect([answer.status, answer.headers.allow, answer.headers["access-control-allow-origin"]]).toEqual([405, "POST", undefined]);
  });

  test.each(["Bearer", "Basic dTpw", ""])("[console §2.5] any header Authorization is 401 (%s)", async (scheme) => {
    for (const authorization of [scheme, `${scheme} ${api.rootKey}`]) {
      for (const cookie of [undefined, browser.cookie])
        expect((await browser.call("ApisService.ListApis", {}, { authorization, cookie })).status).toBe(401);
      // Without anything that a page says, either: as a program would send it.
      const plain = await send(api.url + rpcPath("ApisService.ListApis"), {
        method: "POST",
        headers: { "content-type": "application/json", authorization },
        body: "{}",
      });
      expect(plain.status).toBe(401);
    }
  });

  test("[console §1] the cookie counts on /ui/rpc only", async () => {
    const { cookie = "" } = browser;
    expect((await request(api.url, "apis.listApis", { headers: { cookie }, body: {} })).status).toBe(401);
    const connect = await send(`${api.url}/latchkey.v2.ApisService/ListApis`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie },
      body: "{}",
    });
    expect(seen(connect)).toEqual([401, "unauthenticated", "unkey/authentication/missing"]);
  });

  test("[console §1] its own service is on /ui/rpc only, and not reflected", async () => {
    // Reflection, gRPC and /v2 are made of this list.
    expect([...services, ...testableServices]).not.toContain(ConsoleService);
    const headers = { "content-type": "application/json", authorization: `Bearer ${api.rootKey}`, cookie: browser.cookie };
    for (const path of [
      "/latchkey.console.v1.ConsoleService/GetSession",
      "/v2/console.getSession",
      "/v2/console.signIn",
      "/ui/rpc/latchkey.console.v1.ConsoleService/getSession",
      "/ui/rpc/latchkey.console.v1.ConsoleService/GetSession/",
      "/ui/rpc/grpc.health.v1.Health/Check",
      "/ui/rpc/",
      "/ui/rpc/__proto__/x",
    ])
      expect([path, (await send(api.url + path, { method: "POST", headers, body: "{}" })).status]).toEqual([path, 404]);
  });

  test("[console §1] every procedure of latchkey.v2 is there, in JSON and in binary", async () => {
    const answer = await browser.call("PermissionsService.ListRoles", {}, { "content-type": "application/proto" }, { body: "" });
    expect([answer.status, answer.headers["content-type"]]).toEqual([200, "application/proto"]);
    expect(seen(await browser.call("KeysService.GetKey", {}))).toEqual([400, "invalid_argument", "unkey/application/invalid_input"]);
    expect(seen(await browser.call("KeysService.GetKey", { keyId: "key_unknown" }))).toEqual([
      404,
      "not_found",
      "unkey/data/key_not_found",
    ]);
    expect((await browser.call("KeysService.GetKey", {}, {}, { body: '{"keyId":' })).status).toBe(400);
  });

  test.each([
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "127.0.0.1:1",
    "localhost",
    "user@127.0.0.1",
    "127.0.0.1/",
  ])("[console §1] under the name %s nothing below /ui is served", async (host) => {
    for (const path of ["/ui", "/ui/a/x.js", "/ui/apis"]) expect((await send(api.url + path, { headers: { host } })).status).toBe(403);
    expect((await browser.call("ApisService.ListApis", {}, { host })).status).toBe(403);
    // Everything else is, as before.
    expect((await send(`${api.url}/v2/liveness`, { headers: { host } })).status).toBe(200);
  });

  test("[console §1] over HTTP/2 it is the same", async () => {
    const session = connectHttp2(api.url);
    try {
      const call = (headers: Record<string, string>) =>
        new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
          const stream = session.request({ ":method": "POST", ":path": rpcPath("ApisService.ListApis"), ...headers });
          stream.on("response", (got) => {
            stream.resume();
            stream.on("end", () => resolve({ status: Number(got[":status"]), headers: { ...got } }));
          });
          stream.on("error", reject);
          stream.end("{}");
        });
      const good = {
        "content-type": "application/json",
        "x-latchkey-ui": "1",
        "sec-fetch-site": "same-origin",
        cookie: browser.cookie ?? "",
      };
      const answer = await call(good);
      expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
      expect((await call({ ...good, cookie: "" })).status).toBe(401);
      expect((await call({ ...good, "x-latchkey-ui": "0" })).status).toBe(403);
      expect((await call({ ...good, "content-type": "application/grpc" })).status).toBe(415);
      expect((await call({ ...good, ":authority": "evil.example" })).status).toBe(403);
    } finally {
      session.close();
    }
  });
});
