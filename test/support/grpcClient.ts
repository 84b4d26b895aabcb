import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import { frame, unframe } from "../../src/platform/rpc/wire/frame.ts";

/** How a call ended. */
export interface GrpcAnswer {
  /** Code of gRPC; 0 = success. */
  readonly status: number;
  /** Message of a failure. */
  readonly message: string;
  /** `grpc-status-details-bin` of a failure, where there is one. */
  readonly details: Uint8Array | undefined;
  /** Answer of a success. */
  readonly response: Uint8Array | undefined;
  /** Without pseudo-headers. */
  readonly headers: Headers;
}

/** Unary calls to one address, all over one connection, which the first one opens. */
export interface GrpcClient {
  /** @param path `/<package>.<Service>/<Procedure>` @param request the binary form of a message. */
  readonly call: (path: string, request: Uint8Array, headers: Readonly<Record<string, string>>) => Promise<GrpcAnswer>;
  readonly close: () => void;
}

const headersOf = (received: IncomingHttpHeaders): Headers =>
  new Headers(
    Object.entries(received)
      .filter(([name]) => !name.startsWith(":"))
      .map(([name, value]): [string, string] => [name, String(value)]),
  );

const answerOf = (received: IncomingHttpHeaders, trailers: IncomingHttpHeaders, body: Buffer): GrpcAnswer => {
  const ended = trailers["grpc-status"] === undefined ? received : trailers;
  const status = ended["grpc-status"];
  if (status === undefined) throw new Error(`HTTP ${received[":status"]} without a status of gRPC`);
  const frames = unframe(body);
  if (frames?.compressed) throw new Error("the answer is compressed, which nobody asked for");
  if (status === "0" && frames === undefined) throw new Error("a success is exactly one message");
  const details = ended["grpc-status-details-bin"];
  return {
    status: Number(status),
    message: decodeURIComponent(String(ended["grpc-message"] ?? "")),
    details: details === undefined ? undefined : Buffer.from(String(details), "base64"),
    response: status === "0" ? frames?.bytes : undefined,
    headers: headersOf(received),
  };
};

/**
 * The gRPC client of suites. A client library needs three times the CPU time of the whole call: libraries have
 * tests of their own (`test/rpc/connect.test.ts`, `test/api/grpc/`), and are edges of `npm run test:deep`.
 */
export const createGrpcClient = (url: string): GrpcClient => {
  let session: ClientHttp2Session | undefined;

  const opened = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session;
    // Its calls report what happens to the session.
    session = connect(url).on("error", () => undefined);
    return session;
  };

  const finish = (stream: ClientHttp2Stream): Promise<GrpcAnswer> => {
    const { promise, resolve, reject } = Promise.withResolvers<GrpcAnswer>();
    const parts: Buffer[] = [];
    let received: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (headers) => {
      received = headers;
    });
    stream.on("trailers", (headers) => {
      trailers = headers;
    });
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("error", reject);
    stream.on("close", () => {
      try {
        resolve(answerOf(received, trailers, Buffer.concat(parts)));
      } catch (error) {
        reject(error);
      }
    });
    return promise;
  };

  return {
    call: (path, request, headers) => {
      const stream = opened().request({
        ":method": "POST",
        ":path": path,
        "content-type": "application/grpc+proto",
        te: "trailers",
        ...headers,
      });
      stream.end(frame(0, request));
      return finish(stream);
    },
    close: () => session?.close(),
  };
};
