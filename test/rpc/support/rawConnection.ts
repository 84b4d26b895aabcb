import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A TCP connection on which a test sends any bytes, one at a time if needed. */
export interface RawConnection {
  readonly socket: Socket;
  readonly send: (text: string | Uint8Array) => Promise<void>;
  /** Everything received up to now. */
  readonly received: () => string;
  /** Resolves once what was received matches; rejects when the connection ends first. */
  readonly until: (pattern: RegExp) => Promise<string>;
  /** Resolves with everything received when the other end has closed; `error` when it reset the connection. */
  readonly ended: Promise<{ readonly text: string; readonly error: NodeJS.ErrnoException | undefined }>;
}

export const openRaw = async (port: number): Promise<RawConnection> => {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  let error: NodeJS.ErrnoException | undefined;
  socket.setEncoding("latin1");
  socket.on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("error", (cause) => {
    error = cause;
  });
  const { promise: ended, resolve } = Promise.withResolvers<{ text: string; error: NodeJS.ErrnoException | undefined }>();
  const finish = () => {
    resolve({ text, error });
    socket.destroy();
  };
  socket.on("end", finish).on("close", finish);
  await once(socket, "connect");
  return {
    socket,
    ended,
    received: () => text,
    send: (data) => new Promise((done) => socket.write(data, () => done())),
    until: (pattern) =>
      new Promise((done, fail) => {
        const check = () => {
          if (!pattern.test(text)) return;
          socket.off("data", check);
          done(text);
        };
        socket.on("data", check);
        socket.once("close", () => fail(new Error(`closed after ${JSON.stringify(text)}`, { cause: error })));
        check();
      }),
  };
};

/** Sends everything at once and waits for the other end to close. */
export const exchange = async (
  port: number,
  data: string | Uint8Array,
): Promise<{ text: string; error: NodeJS.ErrnoException | undefined }> => {
  const connection = await openRaw(port);
  void connection.send(data);
  return connection.ended;
};

export interface ParsedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** The first response in a text. Its Content-Length gives the length of the body. */
export const parseResponse = (text: string): ParsedResponse => {
  const [head = ""] = text.split("\r\n\r\n", 1);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers(lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
  const start = head.length + 4;
  return {
    status: Number(statusLine.split(" ")[1]),
    headers,
    body: text.slice(start, start + Number(headers.get("content-length") ?? 0)),
  };
};
