import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { type ConnectionOptions, connect } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { createAdminAccess } from "../../src/operations/admin/adminAccess.ts";
import { type AdminOptions, type AdminServer, createAdminServer } from "../../src/operations/admin/adminServer.ts";
import { recordProfile } from "../../src/operations/admin/recordProfile.ts";
import { parseSubjectName, type SubjectName } from "../../src/platform/base/subjectNames.ts";
import { readTlsMaterial } from "../../src/platform/http/tls/tlsMaterial.ts";
import { secret } from "../../src/platform/secrets/secret.ts";
import { createAuthority } from "../support/authority.ts";
import { eventually } from "../support/eventually.ts";
import { createCertificateFiles } from "./support/createCertificate.ts";

let server: AdminServer | undefined;
afterEach(() => server?.stop());

const start = (options: Partial<AdminOptions> = {}): Promise<string> => {
  const metrics = { contentType: "text/plain; version=0.0.4", render: async () => "metrics\n" };
  server = createAdminServer({ host: "127.0.0.1", port: 0, metrics, isReady: () => true, ...options });
  return server.start();
};

const bearer = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

describe("with a token", () => {
  let token = "the-first-admin-token";
  const access = createAdminAccess({ token: () => secret(token), clients: undefined, onClientRefused: () => undefined });

  test("metrics and what is not there ask for it, probes do not", async () => {
    const url = await start({ access });
    const statusOf = async (path: string, init?: RequestInit): Promise<number> => (await fetch(url + path, init)).status;
    for (const path of ["/livez", "/readyz?verbose"]) expect(await statusOf(path)).toBe(200);
    for (const path of ["/metrics", "/profiles/cpu", "/nothing", "/livez/../metrics", "//livez", "/livez%2f"])
      expect([path, await statusOf(path)]).toEqual([path, 401]);
    expect(await statusOf("/metrics", bearer("the-first-admin-token"))).toBe(200);
    expect(await statusOf("/metrics", { headers: { authorization: "bearer the-first-admin-token" } })).toBe(200);
    for (const wrong of ["the-first-admin-toke", "the-first-admin-token1", "The-first-admin-token", "x"])
      expect([wrong, await statusOf("/metrics", bearer(wrong))]).toEqual([wrong, 401]);
    expect(await statusOf("/metrics", { headers: { authorization: `Basic ${btoa("x:the-first-admin-token")}` } })).toBe(401);
    const refused = await fetch(`${url}/metrics`);
    expect(refused.headers.get("www-authenticate")).toBe('Bearer realm="latchkey admin"');
    expect(await refused.text()).not.toContain("metrics\n");
    token = "the-second-admin-token";
    expect(await statusOf("/metrics", bearer("the-first-admin-token"))).toBe(401);
    expect(await statusOf("/metrics", bearer(token))).toBe(200);
  });
});

describe("with client certificates", () => {
  const port = createCertificateFiles("admin");
  const authority = createAuthority("root");
  const allowed = parseSubjectName("DNS:prometheus.monitoring") as SubjectName;
  const good = authority.issue("prometheus", { names: "DNS:prometheus.monitoring" });

  const open = async (token?: string): Promise<{ readonly url: string; readonly refused: string[] }> => {
    const refused: string[] = [];
    const access = createAdminAccess({
      token: () => (token === undefined ? undefined : secret(token)),
      clients: { allowedNames: [allowed] },
      onClientRefused: ({ reason }) => refused.push(reason),
    });
    return { url: await start({ access, tls: await readTlsMaterial({ ...port, clientCaFile: authority.certFile }) }), refused };
  };

  const statusOf = async (url: string, client: ConnectionOptions = {}, headers = {}): Promise<number | undefined> => {
    const { cert, key } = client;
    const sent = request(url, { rejectUnauthorized: false, headers, agent: false, ...(cert && key ? { cert, key } : {}) }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };

  test("metrics ask for one that is trusted and has a name that is allowed; probes ask for none", async () => {
    const { url, refused } = await open();
    const stranger = createAuthority("elsewhere").issue("stranger", { names: "DNS:prometheus.monitoring" });
    const expired = authority.issue("expired", { names: "DNS:prometheus.monitoring", days: -1 });
    expect(await statusOf(`${url}/metrics`, good)).toBe(200);
    for (const client of [{}, stranger, expired, authority.issue("other")]) {
      expect(await statusOf(`${url}/metrics`, client)).toBe(403);
      expect(await statusOf(`${url}/nothing`, client)).toBe(403);
      expect(await statusOf(`${url}/readyz`, client)).toBe(200);
    }
    const each = ["no_certificate", "untrusted", "expired", "name"];
    expect(refused).toEqual(each.flatMap((reason) => [reason, reason]));
  });

  test("and with a token both are needed", async () => {
    const { url } = await open("the-first-admin-token");
    const authorization = "Bearer the-first-admin-token";
    expect(await statusOf(`${url}/metrics`, good, { authorization })).toBe(200);
    expect(await statusOf(`${url}/metrics`, good)).toBe(401);
    expect(await statusOf(`${url}/metrics`, {}, { authorization })).toBe(403);
  });

  test("another certificate and authority count for new connections, and none is resumed", async () => {
    const { url } = await open();
    const next = createAuthority("next");
    const socket = connect({
      port: Number(new URL(url).port),
      host: "127.0.0.1",
      rejectUnauthorized: false,
      cert: good.cert,
      key: good.key,
    });
    socket.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(String((await once(socket, "data"))[0])).toContain("200 OK");
    const session = socket.getSession();
    server?.setTls(await readTlsMaterial({ ...port, clientCaFile: next.certFile }));
    expect(await statusOf(`${url}/metrics`, good)).toBe(403);
    expect(await statusOf(`${url}/metrics`, next.issue("prometheus", { names: "DNS:prometheus.monitoring" }))).toBe(200);
    const again = connect({ port: Number(new URL(url).port), host: "127.0.0.1", rejectUnauthorized: false, ...(session && { session }) });
    again.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(String((await once(again, "data"))[0])).toContain("403 Forbidden");
    for (const each of [socket, again]) each.destroy();
  });
});

describe("profiles", () => {
  const taken: string[] = [];
  const onTaken = ({ kind, seconds }: { readonly kind: string; readonly seconds: number }): void => void taken.push(`${kind} ${seconds}`);
  const profiles = { record: recordProfile, onTaken };
  const post = (url: string, init: RequestInit = {}): Promise<Response> => fetch(url, { method: "POST", ...init });

  test("there are none unless they are turned on", async () => {
    expect((await post(`${await start()}/profiles/cpu`)).status).toBe(404);
  });

  test("of CPU and heap are files that developer tools open", async () => {
    const url = await start({ profiles });
    for (const [kind, parts] of [
      ["cpu", ["nodes", "startTime", "endTime", "samples", "timeDeltas"]],
      ["heap", ["head", "samples"]],
    ] as const) {
      const response = await post(`${url}/profiles/${kind}?seconds=1`);
      expect([response.status, response.headers.get("content-disposition")]).toEqual([
        200,
        `attachment; filename="latchkey.${kind === "cpu" ? "cpuprofile" : "heapprofile"}"`,
      ]);
      expect(Object.keys((await response.json()) as object)).toEqual(parts);
    }
    expect(taken).toEqual(["cpu 1", "heap 1"]);
  });

  test.each(["0", "61", "1.5", "", "-1", "1e1", "9999", "1&seconds=2"])("not for %j seconds", async (seconds) => {
    const response = await post(`${await start({ profiles })}/profiles/cpu?seconds=${seconds}`);
    expect([response.status, await response.text()]).toEqual([400, "seconds: want a whole number from 1 to 60\n"]);
  });

  test("by POST only, and not for the pages of a browser", async () => {
    const url = await start({ profiles });
    const wrong = await fetch(`${url}/profiles/cpu`);
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    expect((await post(`${url}/profiles/cpu`, { headers: { origin: "http://evil.test" } })).status).toBe(403);
    expect((await post(`${url}/profiles/snapshot`)).status).toBe(404);
  });

  test("one at a time; a client that leaves ends its own", async () => {
    const url = await start({ profiles });
    const leaving = new AbortController();
    const first = post(`${url}/profiles/cpu?seconds=60`, { signal: leaving.signal }).catch(() => "left");
    await eventually(async () => expect((await post(`${url}/profiles/heap?seconds=1`)).status).toBe(409));
    leaving.abort();
    expect(await first).toBe("left");
    await eventually(async () => expect((await post(`${url}/profiles/cpu?seconds=1`)).status).toBe(200));
  });

  test("one that is too large, or fails, is an error, and the next one is recorded", async () => {
    const answers = [async () => "x".repeat(11), () => Promise.reject(new Error("no")), async () => "{}"];
    const url = await start({ profiles: { record: async () => (answers.shift() as () => Promise<string>)(), onTaken, mostBytes: 10 } });
    const texts = [];
    for (let i = 0; i < 3; i++) texts.push(await (await post(`${url}/profiles/cpu`)).text());
    expect(texts).toEqual(["the profile is larger than 10 bytes: record fewer seconds\n", "the profile could not be recorded\n", "{}"]);
  });
});
