import type { Socket } from "node:net";

/** First bytes of every HTTP/2 connection with prior knowledge; no HTTP/1.1 method starts like it. */
const preface: Buffer = Buffer.from("PRI ");

/**
 * Reads the first bytes of a new connection, puts them back, and calls `decided` with whether they are HTTP/2. The socket is then paused, so
 * that nothing is lost and Node can read from the handle directly. A connection that stays silent for `timeout` ms, or ends first, is
 * destroyed.
 *
 * `decided` must start the protocol before it returns. Until then the buffer holds a single chunk: Node gives the buffered chunks of a new
 * HTTP/2 connection to its parser one by one, and throws where no handler can catch it if an earlier chunk ended the session (a GOAWAY, say):
 * "Cannot read properties of undefined (reading 'receive')".
 */
export const detectProtocol = (socket: Socket, timeout: number, decided: (isHttp2: boolean) => void): void => {
  let seen: Buffer | undefined;
  const drop = () => socket.destroy();
  const read = (chunk: Buffer) => {
    seen = seen === undefined ? chunk : Buffer.concat([seen, chunk]);
    const isPreface = seen.subarray(0, preface.length).equals(preface.subarray(0, seen.length));
    if (isPreface && seen.length < preface.length) return;
    socket.off("data", read).off("end", drop).off("timeout", drop).setTimeout(0);
    socket.pause();
    socket.unshift(seen);
    decided(isPreface);
  };
  socket.setTimeout(timeout);
  socket.on("timeout", drop).on("end", drop).on("data", read);
};
