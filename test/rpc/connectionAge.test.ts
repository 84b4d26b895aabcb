import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { systemClock } from "../../src/platform/base/clock.ts";
import { createListener, type Listener } from "../../src/platform/http/listener.ts";

let listener: Listener | undefined;
/** Requests that reached it. */
let received = 0;
afterEach(() => listener?.stop(0));

/** A listener that answers every request 200. Times in milliseconds. */
const start = async (maxAge: number | undefined, silentTimeout?: number): Promise<string> => {
  received = 0;
  listener = await createListener({
    silentTimeout,
    host: "127.0.0.1",
    port: 0,
    handler: (req, res) => {
      received++;
      req.resume();
      res.end("answer");
    },
    errorsBaseUrl: () => "https://docs.example",
    maxAge,
    clock: systemClock,
    onFault: (error) => expect.unreachable(String(error)),
  });
  return `http://127.0.0.1:${listener.address.port}`;
};

test("an HTTP/2 client is asked to leave first, and gets its last stream only then; every call is answered", async () => {
  const session = connect(await start(100));
  const call = async (): Promise<number | undefined> => {
    const stream = session.request({ ":path": "/" });
    stream.resume();
    const [headers] = (await once(stream, "response")) as [{ ":status"?: number }];
    await once(stream, "close");
    return headers[":status"];
  };
  const asked = once(session, "goaway");
  expect(await call()).toBe(200);
  // Node's client opens no stream once it has heard of this; one that is slower to hear would still be served.
  expect((await asked).slice(0, 2)).toEqual([constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1]);
  await once(session, "close");
});

test("every call that reaches a connection which has lasted long enough is answered, and later ones come over another", async () => {
  const url = await start(100);
  let connections = 0;
  let answered = 0;
  const call = async (session: ClientHttp2Session): Promise<void> => {
    const stream = session.request({ ":path": "/" });
    // A client that is asked to leave refuses its unsent calls by itself, and its caller may retry.
    stream.on("error", () => expect(stream.rstCode).toBe(constants.NGHTTP2_REFUSED_STREAM));
    stream.on("response", (headers) => {
      expect(headers[":status"]).toBe(200);
      answered++;
    });
    stream.resume();
    await new Promise((resolve) => stream.once("close", resolve));
  };
  while (connections < 4) {
    const session = connect(url);
    connections++;
    while (!session.closed && !session.destroyed) await Promise.all(Array.from({ length: 5 }, () => call(session)));
  }
  expect(answered).toBeGreaterThan(5 * connections);
  expect(answered).toBe(received);
});

test("an HTTP/2 client that is silent is asked to go, and its open streams continue", async () => {
  const session = connect(await start(undefined, 100));
  const asked = once(session, "goaway");
  const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
  const [headers] = await once(stream, "response");
  expect(headers[":status"]).toBe(200);
  expect((await asked)[0]).toBe(constants.NGHTTP2_NO_ERROR);
  stream.end("rest").resume();
  await once(stream, "close");
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
});

test("an HTTP/2 connection that stays silent after it was asked to go is destroyed, with its open streams", async () => {
  const session = connect(await start(undefined, 200));
  session.on("error", () => undefined);
  const stream = session.request({ ":method": "POST", ":path": "/" }, { endStream: false });
  stream.on("error", () => undefined);
  await once(stream, "response");
  await once(session, "goaway");
  await once(session, "close");
  expect(stream.destroyed).toBe(true);
});

test("an HTTP/2 client that calls is not asked to go", async () => {
  const session = connect(await start(undefined, 1_000));
  let isAsked = false;
  session.on("goaway", () => {
    isAsked = true;
  });
  for (let calls = 0; calls < 20; calls++) {
    const stream = session.request({ ":path": "/" }).resume();
    await once(stream, "close");
    await sleep(100);
  }
  expect(isAsked).toBe(false);
  session.destroy();
});

test.each([{ maxAge: 30 }, { maxAge: undefined }])(
  "on HTTP/1.1 an answer says so where connections last $maxAge ms",
  async ({ maxAge }) => {
    const url = await start(maxAge);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Map<number | undefined, string | undefined>();
    for (let calls = 0; calls < 20 && ports.size < 3; calls++) {
      const sent = request(url, { agent }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      // No answer comes over a connection whose last one it was.
      const { localPort } = response.socket;
      expect(ports.get(localPort)).not.toBe("close");
      ports.set(localPort, response.headers.connection);
      response.resume();
      await once(response, "end");
      await sleep(10);
    }
    expect([...ports.values()].slice(0, -1)).toEqual(maxAge === undefined ? [] : ["close", "close"]);
    agent.destroy();
  },
);
