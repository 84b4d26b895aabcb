import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectTcp } from "node:net";
import { afterEach } from "vitest";

const sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const session of sessions.splice(0)) session.destroy();
});

/** @param from an address of this machine: all of 127/8 are. */
export const open = async (url: string, from = "127.0.0.1"): Promise<ClientHttp2Session> => {
  const { hostname, port } = new URL(url);
  const socket = connectTcp({ host: hostname, port: Number(port), localAddress: from });
  socket.on("error", () => undefined);
  const session: ClientHttp2Session & { toldWhy?: number } = connect(url, { createConnection: () => socket });
  session.on("error", () => undefined);
  session.on("goaway", (code) => {
    session.toldWhy ??= code;
  });
  sessions.push(session);
  await Promise.race([once(session, "remoteSettings"), once(session, "close")]);
  return session;
};

/** The status of an answer, undefined where there is none. */
export const liveness = async (session: ClientHttp2Session, headers: Record<string, string> = {}): Promise<number | undefined> => {
  if (session.closed || session.destroyed) return undefined;
  const stream = session.request({ ":path": "/v2/liveness", ...headers });
  let status: number | undefined;
  stream.on("error", () => undefined);
  stream.on("response", (fields) => {
    status = Number(fields[":status"]);
  });
  stream.resume();
  await new Promise((resolve) => stream.once("close", resolve));
  return status;
};

/** The code of the first GOAWAY. */
export const codeOf = (session: ClientHttp2Session): number | undefined => (session as { toldWhy?: number }).toldWhy;
