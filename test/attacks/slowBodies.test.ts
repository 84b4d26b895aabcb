import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { freeBodyPieces, swallowedBytes, swallowedPieceBytes } from "../../src/platform/http/limits.ts";
import { type Edges, startEdges } from "../rpc/support/startEdges.ts";

const head = (path: string, type: string, length: number): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;
const edges: readonly (readonly [string, string, string])[] = [
  ["/v2", "/v2/apis.createApi", "application/json"],
  ["Connect", "/latchkey.v2.ApisService/CreateApi", "application/json"],
];

const open = async ({ port }: Edges): Promise<Socket> => {
  const socket = connect({ port, host: "127.0.0.1" }).setNoDelay();
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return socket;
};

/** Sends a byte as soon as the one before it is on its way; returns how many were sent before the connection was closed. */
const drip = async (socket: Socket, length: number): Promise<number> => {
  for (let sent = 0; sent < length; sent++) {
    if (socket.destroyed || !socket.writable) return sent;
    await new Promise((resolve) => socket.write(" ", resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return length;
};

describe("bodies that are sent without credentials", () => {
  test.each(edges.flatMap((edge) => [20_000, 200_000].map((length) => [...edge, length] as const)))(
    "byte by byte are answered at once, and their connection is closed after few pieces: %s, %s, %s, %i bytes",
    async (_name, path, type, length) => {
      await using service = await startEdges();
      const socket = await open(service);
      socket.write(head(path, type, length));
      const [answer] = await once(socket, "data");
      expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
      socket.resume();
      const sent = await drip(socket, length);
      expect(sent).toBeGreaterThan(freeBodyPieces / 2);
      // Bytes in the buffers of the system come on top.
      expect(sent).toBeLessThan(20 * freeBodyPieces);
      expect((await fetch(`${service.url}/v2/liveness`)).status).toBe(200);
    },
  );

  test.each(edges)("in a few pieces leave their connection open for the next request: %s", async (_name, path, type) => {
    await using service = await startEdges();
    const socket = await open(service);
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
    });
    for (let round = 1; round <= 3; round++) {
      socket.write(head(path, type, 100));
      expect(await drip(socket, 100)).toBe(100);
      while ((text.match(/HTTP\/1\.1 401/g) ?? []).length < round) await once(socket, "data");
    }
    expect(socket.destroyed).toBe(false);
  });

  test("are bounded in their pieces over all connections of an address", async () => {
    await using service = await startEdges({ clock: { now: Date.now, monotonic: () => 0 } });
    const most = swallowedBytes / swallowedPieceBytes;
    let sent = 0;
    for (let connections = 0; connections < 40 && sent < 2 * most; connections++) {
      const socket = await open(service);
      if (socket.destroyed) break;
      socket.write(head("/v2/apis.createApi", "application/json", 20_000));
      socket.resume();
      sent += await drip(socket, 200);
      socket.destroy();
    }
    // The bound is one of the whole node: an address alone has no more.
    expect(sent).toBeLessThan(1.5 * most);
  });
});
