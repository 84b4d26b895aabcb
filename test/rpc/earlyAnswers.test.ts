import { expect, test } from "vitest";
import { openRaw } from "./support/rawConnection.ts";
import { startEdges } from "./support/startEdges.ts";

const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

const data = 0;
const headers = 1;
const reset = 3;
const settings = 4;
const endHeaders = 4;
const endStream = 1;

/** A header as HPACK writes it without any table. */
const field = ([name, value]: readonly [string, string]): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)]);

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

const framesOf = (text: string): Frame[] => {
  const bytes = Buffer.from(text, "latin1");
  const frames: Frame[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    frames.push({ type: bytes.readUInt8(at + 3), flags: bytes.readUInt8(at + 4), stream: bytes.readUInt32BE(at + 5) });
  }
  return frames;
};

const grpcPath = "/latchkey.v2.KeysService/VerifyKey";

test.each([
  ["/v2", "/v2/keys.verifyKey", "application/json"],
  ["Connect", grpcPath, "application/json"],
  ["gRPC-Web", grpcPath, "application/grpc-web+proto"],
  ["gRPC", grpcPath, "application/grpc"],
  ["gRPC JSON", grpcPath, "application/grpc+json"],
])(
  "[protocol §3] over HTTP/2 a 413 on %s comes with its end, so that it is read by a client that then stops its body",
  async (_, path, type) => {
    await using edges = await startEdges({ maxBodyBytes: 1000 });
    const connection = await openRaw(edges.port);
    const fields: readonly (readonly [string, string])[] = [
      [":method", "POST"],
      [":scheme", "http"],
      [":path", path],
      [":authority", "x"],
      ["authorization", "Bearer x"],
      ["content-type", type],
      ["content-length", "200000"],
    ];
    await connection.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    await connection.send(
      Buffer.concat([
        frame(settings, 0, 0, Buffer.alloc(0)),
        frame(headers, endHeaders, 1, Buffer.concat(fields.map(field))),
        frame(data, 0, 1, Buffer.alloc(16_384)),
      ]),
    );
    const answered = new Promise<Frame[]>((resolve) => {
      const look = () => {
        const frames = framesOf(connection.received()).filter(({ stream }) => stream === 1);
        if (frames.some((each) => each.type === headers)) resolve(frames);
      };
      connection.socket.on("data", look);
      look();
    });
    const seen = await answered;
    expect(seen.filter(({ type: each, flags }) => each <= headers && (flags & endStream) === endStream)).toHaveLength(1);
    expect(seen.map(({ type: each }) => each)).not.toContain(reset);
    connection.socket.destroy();
  },
);
