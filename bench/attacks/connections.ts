import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, type Attacker, onLines } from "./attack.ts";
import { frame, literal } from "./rawHttp2.ts";

const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
/** Flags of a HEADERS frame that holds all headers and that no body follows. */
const END_STREAM_AND_HEADERS = 5;

const preface = Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(SETTINGS, 0, 0, Buffer.alloc(0))]);
const goaway = frame(GOAWAY, 0, 0, Buffer.alloc(8));
const ping = frame(PING, 0, 0, Buffer.alloc(8));
const headers = (path: string): Buffer =>
  Buffer.concat([literal(":method", "GET"), literal(":scheme", "http"), literal(":authority", "x"), literal(":path", path)]);

/** @param from an address of this machine other than that of the polite client, so that connections are left for the others. */
const openSocket = async ({ target: { host, port } }: Attacker, from = "127.0.0.2"): Promise<Socket> => {
  const socket = connect({ host, port, ...(host.startsWith("127.") && { localAddress: from }) }).setNoDelay();
  socket.on("error", () => undefined).resume();
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
};

/** Opens connections and leaves them open. @param text sent at once. @param drip sent again every so many milliseconds. */
const hold = async (attacker: Attacker, connections: number, text = "", drip = "", every = 1_000): Promise<void> => {
  for (let opened = 0; opened < connections && !attacker.signal.aborted; opened += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = await openSocket(attacker);
        if (socket.destroyed) return attacker.count("refused");
        attacker.count("connection");
        socket.write(text);
        if (drip === "") return;
        const dripping = setInterval(() => socket.write(drip), every);
        socket.once("close", () => clearInterval(dripping));
      }),
    );
  }
};

const slowHeaders = "GET /v2/liveness HTTP/1.1\r\nHost: x\r\nX-Slow: ";
const slowBody = (length: number, more = ""): string =>
  `POST /v2/apis.createApi HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${length}\r\n\r\n`;

/** Opens 256 HTTP/2 streams on each of 40 connections, and opens a stream again when it is closed. */
const flood = (
  attacker: Attacker,
  fields: Readonly<Record<string, string>>,
  begin: (stream: ClientHttp2Stream) => void = () => undefined,
): Promise<void> =>
  onLines(40, attacker, async () => {
    const socket = await openSocket(attacker);
    if (socket.destroyed) throw new Error("refused");
    const session: ClientHttp2Session = connectHttp2(attacker.target.url, { createConnection: () => socket });
    session.on("error", () => undefined);
    const open = (): void => {
      if (session.closed || session.destroyed || attacker.signal.aborted) return;
      const stream = session.request({ ":method": "POST", ...fields }, { endStream: false });
      stream.on("error", () => undefined).on("response", (answer) => attacker.count(Number(answer[":status"])));
      stream.on("close", () => setTimeout(open, 20)).resume();
      begin(stream);
    };
    for (let i = 0; i < 256; i++) open();
    // Some give up, as clients on a busy machine do: their GOAWAY comes with the first bytes.
    await Promise.race([once(session, "close"), sleep(500 + Math.random() * 1_500)]);
    session.destroy();
  });

/** Fills the share of the address with slow and idle connections, then opens streams. This order once ended the process. */
const afterHolding = async (attacker: Attacker, streams: () => Promise<void>): Promise<void> => {
  await hold(attacker, 3_000, slowHeaders, "a");
  await hold(attacker, 3_000, slowBody(1_000, `Authorization: Bearer ${attacker.target.useless}\r\n`), " ");
  await hold(attacker, 9_000);
  await streams();
};

const flights: readonly Buffer[] = [
  Buffer.concat([preface, frame(1, END_STREAM_AND_HEADERS, 1, headers("/v2/liveness")), ping, goaway, ping, ping]),
  Buffer.concat([preface, goaway, ping, frame(1, END_STREAM_AND_HEADERS, 1, headers("/v2/liveness"))]),
  Buffer.concat([preface, frame(0, 0, 0, Buffer.alloc(8)), ping]),
  Buffer.from("GET /v2/liveness HTTP/1.1\r\nHost: x\r\n\r\nGET /v2/liveness HTTP/1.1\r\nHo"),
  Buffer.from(`${slowBody(100)}${" ".repeat(50)}`),
];
const cuts: readonly ((socket: Socket) => void)[] = [
  (socket) => void socket.resetAndDestroy(),
  (socket) => void socket.destroy(),
  (socket) => {
    socket.end();
    setTimeout(() => socket.destroy(), 100);
  },
];

/** Cuts connections at a random byte of their first flight, by a reset, a close or a half-close. */
const cutConnections = (attacker: Attacker, lines: number): Promise<void> => {
  let next = 0;
  return onLines(lines, attacker, async () => {
    const number = next++;
    const flight = flights[number % flights.length] as Buffer;
    const cut = cuts[number % cuts.length] as (socket: Socket) => void;
    // An address alone would run into its bound on connections.
    const socket = await openSocket(attacker, `127.0.1.${number % 200}`);
    if (socket.destroyed) throw new Error("refused");
    const end = Math.floor(Math.random() * (flight.length + 1));
    const middle = Math.floor(Math.random() * (end + 1));
    if (middle > 0) socket.write(flight.subarray(0, middle));
    if (number % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => (end > middle ? socket.write(flight.subarray(middle, end), resolve) : resolve(undefined)));
    cut(socket);
    attacker.count("cut");
  });
};

const reflectionQuestion = Buffer.concat([Buffer.from([0, 0, 0, 0, 25, 0x22, 23]), Buffer.from("latchkey.v2.KeysService")]);
const grpc = (path: string): Record<string, string> => ({ ":path": path, "content-type": "application/grpc", te: "trailers" });

/** Attacks by connections: many of them, slow ones, ones that break off. */
export const connectionAttacks: readonly Attack[] = [
  {
    name: "slow-bodies",
    description: "3,000 bodies without credentials that come byte by byte, 20 bytes a second each",
    run: (attacker) => hold(attacker, 3_000, slowBody(100_000), " ", 50),
  },
  {
    name: "flood-streams",
    description: "3,000 slow headers, 3,000 slow bodies, 9,000 idle connections, then 40 × 256 streams that send headers only",
    run: (attacker) =>
      afterHolding(attacker, () =>
        flood(attacker, {
          ":path": "/v2/apis.createApi",
          "content-type": "application/json",
          authorization: `Bearer ${attacker.target.useless}`,
        }),
      ),
  },
  {
    name: "flood-watches",
    description: "the same, then 10,240 quiet Health/Watch streams",
    run: (attacker) =>
      afterHolding(attacker, () => flood(attacker, grpc("/grpc.health.v1.Health/Watch"), (stream) => void stream.end(Buffer.alloc(5)))),
  },
  {
    name: "cut-connections",
    description: "connections cut at every point before their first answer",
    run: (attacker) => cutConnections(attacker, 64),
  },
  {
    name: "cut-in-a-flood",
    description: "the same next to 40 × 256 streams that send headers only",
    run: async (attacker) => {
      const fields = {
        ":path": "/v2/apis.createApi",
        "content-type": "application/json",
        authorization: `Bearer ${attacker.target.useless}`,
      };
      await Promise.all([cutConnections(attacker, 64), flood(attacker, fields)]);
    },
  },
  {
    name: "reflection-stream",
    description: "one reflection stream that asks for descriptors as fast as it can",
    run: (attacker) =>
      onLines(1, attacker, async () => {
        const session = connectHttp2(attacker.target.url, { settings: { initialWindowSize: 2 ** 24 } });
        session.on("error", () => undefined);
        const stream = session.request({ ":method": "POST", ...grpc("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") });
        stream
          .on("error", () => undefined)
          .on("data", (chunk: Buffer) => {
            received += chunk.length;
          });
        let received = 0;
        const many = Buffer.concat(Array.from({ length: 1_000 }, () => reflectionQuestion));
        const closed = once(stream, "close").catch(() => undefined);
        while (!stream.destroyed && !attacker.signal.aborted)
          if (!stream.write(many)) await Promise.race([once(stream, "drain").catch(() => undefined), closed, sleep(500)]);
        attacker.count(`${Math.round(received / 1024 ** 2)} MiB answered`);
        session.destroy();
      }),
  },
];
