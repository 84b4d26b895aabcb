import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { expect, test } from "vitest";
import { parseSubjectName, type SubjectName } from "../../src/platform/base/subjectNames.ts";
import { readTlsMaterial } from "../../src/platform/http/tls/tlsMaterial.ts";
import { createAuthority, type Issued } from "../support/authority.ts";
import { eventually } from "../support/eventually.ts";
import { createCertificateFiles } from "./support/createCertificate.ts";
import { type Edges, startEdges } from "./support/startEdges.ts";

const server = createCertificateFiles("server");
const authority = createAuthority("root");
const stranger = createAuthority("stranger");
const inner = authority.issueAuthority("inner");
const names = "DNS:billing.example.com,URI:spiffe://example.com/billing";
const good = authority.issue("good", { names });
const issued = inner.issue("issued", { names });
const chained = { ...issued, cert: Buffer.concat([issued.cert, inner.cert]) };
const wrong: Readonly<Record<string, Issued | undefined>> = {
  no_certificate: undefined,
  untrusted: stranger.issue("untrusted", { names }),
  "untrusted, for servers only": authority.issue("for-servers", { names, usage: "serverAuth" }),
  expired: authority.issue("expired", { names, days: -1 }),
  name: authority.issue("billing.example.com", { names: "DNS:other.example.com" }),
  "name, as it has none": authority.issue("nameless"),
};

const allowedNames = ["DNS:*.example.org", "DNS:billing.example.com"].map((text) => parseSubjectName(text) as SubjectName);

const start = async (clientCaFile = authority.certFile): Promise<{ readonly edges: Edges; readonly refused: string[] }> => {
  const refused: string[] = [];
  const edges = await startEdges({
    tls: await readTlsMaterial({ ...server, clientCaFile }),
    allowedNames,
    onClientRefused: ({ reason }) => refused.push(reason),
  });
  return { edges, refused };
};

const shown = (client: Issued | undefined): ConnectionOptions => ({
  rejectUnauthorized: false,
  ...(client && { cert: client.cert, key: client.key }),
});

/** The status line that a request is answered with; "" when the connection ends without one. */
const overHttp1 = ({ port }: Edges, options: ConnectionOptions): Promise<string> =>
  new Promise((resolve) => {
    const socket = connectTls({ port, host: "127.0.0.1", ...options });
    socket.on("error", () => undefined).on("close", () => resolve(""));
    socket.once("data", (data) => {
      resolve(String(data).split("\r\n", 1)[0] ?? "");
      socket.destroy();
    });
    socket.write("GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\n");
  });

const ask = (session: ClientHttp2Session, headers: Record<string, string>, body?: Buffer): Promise<unknown> =>
  new Promise((resolve) => {
    session.on("error", () => resolve(undefined)).on("close", () => resolve(undefined));
    const stream = session.request(headers);
    stream.on("error", () => resolve(undefined));
    stream.on("response", (answered) => resolve(answered[":status"]));
    stream.resume().end(body);
  });

const overHttp2 = async ({ url }: Edges, options: ConnectionOptions): Promise<unknown> => {
  const session = connectHttp2(url, options);
  const status = await ask(session, { ":path": "/v2/liveness" });
  session.destroy();
  return status;
};

const overGrpc = async ({ url }: Edges, options: ConnectionOptions): Promise<unknown> => {
  const session = connectHttp2(url, options);
  const headers = { ":method": "POST", ":path": "/latchkey.v2.ApisService/CreateApi", "content-type": "application/grpc", te: "trailers" };
  const status = await ask(session, { ...headers, authorization: "Bearer x" }, Buffer.from("00000000030a0161", "hex"));
  session.destroy();
  return status;
};

test("a client with a certificate of the authority and a name that is allowed is served on every protocol", async () => {
  const { edges, refused } = await start();
  await using _ = edges;
  for (const client of [good, chained]) {
    expect(await overHttp1(edges, shown(client))).toBe("HTTP/1.1 200 OK");
    expect(await overHttp2(edges, shown(client))).toBe(200);
    expect(await overGrpc(edges, shown(client))).toBe(200);
  }
  expect([refused, edges.invocations.length]).toEqual([[], 2]);
});

test.each(Object.entries(wrong))("%s: refused on every protocol, before anything is read", async (reason, client) => {
  const { edges, refused } = await start();
  await using _ = edges;
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const)
    expect([maxVersion, await overHttp1(edges, { ...shown(client), maxVersion })]).toEqual([maxVersion, ""]);
  expect(await overHttp2(edges, shown(client))).toBeUndefined();
  expect(await overGrpc(edges, shown(client))).toBeUndefined();
  await eventually(() => expect(refused).toEqual(Array.from({ length: 4 }, () => reason.split(",")[0])));
  expect([edges.invocations, edges.refused]).toEqual([[], []]);
});

test.each(["TLSv1.2", "TLSv1.3"] as const)("no session is resumed over %s, so every connection is judged", async (version) => {
  const { edges } = await start();
  await using _ = edges;
  const options = { port: edges.port, host: "127.0.0.1", rejectUnauthorized: false, minVersion: version, maxVersion: version } as const;
  const first = connectTls({ ...options, ...shown(good) });
  const session = Promise.race([once(first, "session").then(([kept]) => kept as Buffer), once(first, "data").then(() => undefined)]);
  await once(first, "secureConnect");
  first.write("GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\n");
  const kept = await session;
  first.destroy();
  // With the session alone, and with another certificate in addition to it.
  const resumed = kept ? { session: kept } : {};
  expect(await overHttp1(edges, { ...options, ...resumed })).toBe("");
  expect(await overHttp1(edges, { ...options, ...resumed, ...shown(wrong.untrusted) })).toBe("");
  const again = connectTls({ ...options, ...resumed, ...shown(good) });
  await once(again, "secureConnect");
  expect(again.isSessionReused()).toBe(false);
  again.destroy();
});

test("another authority counts for new connections; existing ones stay", async () => {
  const { edges } = await start();
  await using _ = edges;
  const old = connectHttp2(edges.url, shown(good));
  expect(await ask(old, { ":path": "/v2/liveness" })).toBe(200);
  edges.listener.setTls(await readTlsMaterial({ ...server, clientCaFile: stranger.certFile }));
  expect(await ask(old, { ":path": "/v2/liveness" })).toBe(200);
  old.destroy();
  expect(await overHttp1(edges, shown(good))).toBe("");
  expect(await overHttp1(edges, shown(wrong.untrusted))).toBe("HTTP/1.1 200 OK");
  // Without a file of authorities node would trust those of the system.
  const without = await readTlsMaterial(server);
  expect(() => edges.listener.setTls(without)).toThrow("cannot change whether clients show certificates");
});

test("a file of authorities has to lead to a root, and to be whole", async () => {
  const read = (clientCaFile: string) => readTlsMaterial({ ...server, clientCaFile });
  await expect(read(inner.certFile)).rejects.toThrow(/TLS_CLIENT_CA: ".*inner.crt" lacks the certificate that issued "CN=inner"/);
  await expect(read(good.keyFile)).rejects.toThrow(/TLS_CLIENT_CA: ".*" is not a PEM file of whole certificates/);
});
