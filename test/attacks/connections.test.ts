import { type ClientHttp2Session, constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { barTime, excessHeaderBytes, swallowedBytes } from "../../src/platform/http/limits.ts";
import { readTlsMaterial } from "../../src/platform/http/tls/tlsMaterial.ts";
import { createCertificateFiles } from "../rpc/support/createCertificate.ts";
import { type Edges, startEdges } from "../rpc/support/startEdges.ts";
import { eventually } from "../support/eventually.ts";
import { codeOf, liveness, open } from "./support/sessions.ts";

const large = { "x-large": "a".repeat(15_000) };

describe("the cost of connections for others", () => {
  test("header lists that are large after decompression are bounded in total; only the connection that exceeds the bound is closed", async () => {
    let now = 0;
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => now } });
    let answered = 0;
    let last: ClientHttp2Session | undefined;
    for (let i = 0; i < 20 && codeOf(last ?? ({} as ClientHttp2Session)) === undefined; i++) {
      last = await open(edges.url);
      for (let j = 0; j < 20; j++) if ((await liveness(last, large)) === 200) answered++;
    }
    expect(codeOf(last as ClientHttp2Session)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    expect(answered).toBeLessThanOrEqual(excessHeaderBytes / 13_000);
    expect(answered).toBeGreaterThan(100);
    expect(await liveness(await open(edges.url))).toBeUndefined();
    expect(await liveness(await open(edges.url, "127.0.0.2"), large)).toBe(200);
    const refused = await fetch(`${edges.url}/v2/liveness`, { headers: large });
    expect([refused.status, refused.headers.get("connection")]).toEqual([503, "close"]);
    expect(await refused.json()).toMatchObject({ meta: { requestId: expect.stringMatching(/^req_/) }, error: { status: 503 } });
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
    now = barTime;
    expect(await liveness(await open(edges.url), large)).toBe(200);
  });

  test("violations of callers behind a trusted proxy count for the address that it names, and its connection stays", async () => {
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => 0 }, trustedProxies: ["127.0.0.1/32"] });
    const session = await open(edges.url);
    let refused = 0;
    for (let i = 0; i < 400; i++) if ((await liveness(session, { ...large, "x-forwarded-for": "192.0.2.1" })) === undefined) refused++;
    expect(refused).toBeGreaterThan(200);
    expect(await liveness(session, { ...large, "x-forwarded-for": "192.0.2.2" })).toBe(200);
    expect(await liveness(session, { "x-forwarded-for": "192.0.2.1" })).toBe(200);
    expect(await liveness(await open(edges.url))).toBe(200);
  });

  test("open streams are shared fairly between addresses when they run out", async () => {
    await using edges = await startEdges({ capacity: { maxInFlight: 64 }, invoke: () => new Promise(() => undefined) });
    const hold = async (from: string, times: number): Promise<number> => {
      const session = await open(edges.url, from);
      let refused = 0;
      for (let i = 0; i < times; i++) {
        const stream = session.request({ ":method": "POST", ":path": "/v2/apis.createApi", authorization: "Bearer x" });
        stream.on("error", () => undefined);
        stream.on("close", () => {
          if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) refused++;
        });
      }
      const settled = async (): Promise<number> => {
        const before = refused;
        await new Promise((resolve) => session.ping(resolve));
        await new Promise((resolve) => setTimeout(resolve, 20));
        return before === refused && refused > 0 ? times - refused : settled();
      };
      return settled();
    };
    expect(await hold("127.0.0.1", 200)).toBe(72);
    expect(await hold("127.0.0.2", 200)).toBe(40);
    expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200);
  });

  test("bodies that were answered unread are swallowed up to a bound over all connections of an address", async () => {
    await using edges = await startEdges({ clock: { now: Date.now, monotonic: () => 0 } });
    const { hostname, port } = new URL(edges.url);
    const chunk = Buffer.alloc(1024 * 1024, 120);
    const wanted = 2 * swallowedBytes;
    let sent = 0;
    const connections = Array.from({ length: 4 }, async () => {
      const socket = connectTcp({ host: hostname, port: Number(port) });
      socket.on("error", () => undefined);
      socket.resume();
      const head = `POST /v2/apis.createApi HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${wanted / 4}\r\n\r\n`;
      socket.write(head);
      for (let i = 0; i < wanted / 4 / chunk.length && !socket.destroyed && socket.writable; i++) {
        const isSent = await new Promise<boolean>((resolve) => {
          const end = () => resolve(false);
          socket.once("close", end);
          socket.write(chunk, (error) => {
            socket.off("close", end);
            resolve(error == null);
          });
        });
        if (isSent) sent += chunk.length;
      }
      socket.destroy();
    });
    await Promise.all(connections);
    // Bytes in the buffers of the system come on top.
    expect(sent).toBeLessThan(1.6 * swallowedBytes);
    await eventually(async () => expect((await fetch(`${edges.url}/v2/liveness`)).status).toBe(200));
  });

  /** Asks on a connection that stays; false when it was closed unheard. */
  const isServed = (edges: Edges, from = "127.0.0.1", opened: Socket[] = []): Promise<boolean> =>
    new Promise((resolve) => {
      const to = { host: "127.0.0.1", port: edges.port, localAddress: from };
      const socket = edges.url.startsWith("https") ? connectTls({ ...to, rejectUnauthorized: false }) : connectTcp(to);
      opened.push(socket);
      socket.on("error", () => undefined).on("close", () => resolve(false));
      socket.once("data", (data) => resolve(String(data).startsWith("HTTP/1.1 200")));
      socket.write("GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\n");
    });

  test.each([
    ["cleartext", async () => ({})],
    ["TLS", async () => ({ tls: await readTlsMaterial(createCertificateFiles("many")) })],
  ])("connections of one address are bounded, and more are closed as they come: %s", async (_name, options) => {
    const refused: string[] = [];
    const capacity = { addressConnections: 3, onRefused: (resource: string) => void refused.push(resource) };
    await using edges = await startEdges({ capacity, ...(await options()) });
    const opened: Socket[] = [];
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await isServed(edges, "127.0.0.1", opened));
    expect(answers).toEqual([true, true, true, false]);
    expect(refused).toEqual(["connections"]);
    expect(await isServed(edges, "127.0.0.2")).toBe(true);
    opened[0]?.destroy();
    await eventually(async () => expect(await isServed(edges)).toBe(true));
  });

  test("the number of connections of a trusted proxy is not limited", async () => {
    await using edges = await startEdges({ capacity: { addressConnections: 3 }, trustedProxies: ["127.0.0.1/32"] });
    for (let i = 0; i < 5; i++) expect(await isServed(edges)).toBe(true);
  });
});
