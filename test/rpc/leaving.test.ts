import { type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { type Caller, unrestrictedGrants } from "../../src/platform/authorization/authorization.ts";
import { ServiceError } from "../../src/platform/base/errors.ts";
import { createAnswerFailure } from "../../src/platform/rpc/edges/v2/answer.ts";
import { eventually } from "../support/eventually.ts";
import { openRaw } from "./support/rawConnection.ts";
import { startEdges } from "./support/startEdges.ts";

const caller: Caller = { rootKeyId: "rk_1", name: undefined, expires: undefined, grants: unrestrictedGrants };

/** Edges whose authentication waits for a signal, and which count the calls in flight. */
const startCounting = async () => {
  const gate = Promise.withResolvers<void>();
  const seen = { entered: 0, left: 0 };
  const edges = await startEdges({
    invoke: () => ({ data: { valid: true, code: 1 } }),
    authenticate: async (call) => {
      seen.entered++;
      call.onRelease = () => seen.left++;
      await gate.promise;
      return caller;
    },
  });
  return { edges, seen, open: () => gate.resolve() };
};

const paths = [
  { edge: "/v2", path: "/v2/keys.verifyKey", type: "application/json" },
  { edge: "Connect", path: "/latchkey.v2.KeysService/VerifyKey", type: "application/json" },
  { edge: "gRPC-Web", path: "/latchkey.v2.KeysService/VerifyKey", type: "application/grpc-web+proto" },
] as const;

describe("[protocol §9] a client that leaves while its root key is looked up is counted out", () => {
  test.each(paths)("over HTTP/1.1, $edge", async ({ path, type }) => {
    const { edges, seen, open } = await startCounting();
    await using _ = edges;
    for (const [i, sent] of ["", "{", "{}"].entries()) {
      const connection = await openRaw(edges.port);
      await connection.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: 2\r\n\r\n${sent}`);
      await eventually(() => expect(seen.entered).toBe(i + 1));
      connection.socket.resetAndDestroy();
    }
    // Their connections are gone before the root key is known.
    await new Promise((resolve) => setTimeout(resolve, 50));
    open();
    await eventually(() => expect(seen.left).toBe(3));
  });

  test.each([...paths, { edge: "gRPC", path: "/latchkey.v2.KeysService/VerifyKey", type: "application/grpc" }])(
    "over HTTP/2, $edge",
    async ({ path, type }) => {
      const { edges, seen, open } = await startCounting();
      await using _ = edges;
      const session = connectHttp2(edges.url);
      for (const [i, sent] of ["{", "{}"].entries()) {
        const stream = session.request({ ":method": "POST", ":path": path, "content-type": type });
        stream.on("error", () => undefined);
        stream.write(sent);
        if (sent === "{}") stream.end();
        await eventually(() => expect(seen.entered).toBe(i + 1));
        stream.close(8);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
      open();
      await eventually(() => expect(seen.left).toBe(2));
      session.destroy();
    },
  );
});

test.each(["HTTP/1.1", "HTTP/2"])("no answer is made for a client that has left (%s)", async (version) => {
  let bodies = 0;
  const answerFailure = createAnswerFailure(() => {
    bodies++;
    return "{}";
  });
  const { promise: left, resolve } = Promise.withResolvers<void>();
  const onRequest = (req: IncomingMessage, res: ServerResponse): void => {
    const failure = {
      requestId: "req_1",
      error: new ServiceError("request_body_unreadable", "The request body broke off."),
      bodyRead: false,
    };
    res.once("close", () => {
      answerFailure(req, res, failure);
      resolve();
    });
    client.destroy();
  };
  const server = version === "HTTP/2" ? createHttp2Server(onRequest as never) : createServer(onRequest);
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const session = version === "HTTP/2" ? connectHttp2(`http://127.0.0.1:${port}`) : undefined;
  const options = { port, host: "127.0.0.1", method: "POST", headers: { "content-length": 9 } };
  const client = session ? session.request({ ":method": "POST", ":path": "/" }, { endStream: false }) : request(options);
  client.on("error", () => undefined);
  if (!session) (client as ClientRequest).flushHeaders();
  await left;
  session?.destroy();
  server.close();
  expect(bodies).toBe(0);
});

describe("[protocol §9] a call whose answer cannot be written is counted out once", () => {
  test.each([...paths, { edge: "gRPC", path: "/latchkey.v2.KeysService/VerifyKey", type: "application/grpc" }])(
    "$edge",
    async ({ edge, path, type }) => {
      let left = 0;
      await using edges = await startEdges({
        invoke: ({ call }) => {
          call.onRelease = () => left++;
          call.setHeader("no name of a header", "");
          return { data: { valid: true, code: 1 } };
        },
      });
      const session = connectHttp2(edges.url);
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": type, authorization: "Bearer x" });
      stream.on("error", () => undefined);
      stream.end(type.includes("grpc") ? Buffer.from([0, 0, 0, 0, 6, 10, 4, 115, 107, 95, 49]) : '{"key":"sk_1"}');
      stream.resume();
      await new Promise((resolve) => stream.once("close", resolve));
      expect([edge, left]).toEqual([edge, 1]);
      expect(edges.faults.splice(0).length).toBeGreaterThan(0);
      session.destroy();
    },
  );
});
