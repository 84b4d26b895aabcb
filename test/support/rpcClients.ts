import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { compressionGzip, createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { type ErrorDetail, ErrorDetailSchema } from "../../gen/latchkey/v2/errors_pb.ts";

/** Every protocol and form of a call over RPC. Answers may be compressed; long requests are. */
export const rpcTransports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  "Connect JSON": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect binary": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true }),
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  "gRPC, gzip": (baseUrl) => createGrpcTransport({ baseUrl, sendCompression: compressionGzip, compressMinBytes: 0 }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
};

export interface RpcFailure {
  /** `invalid_argument`, … */
  readonly code: string;
  readonly message: string;
  /** Headers and trailers. */
  readonly metadata: Headers;
  /** The one detail; fails when there are none or several. */
  readonly detail: ErrorDetail;
}

/** The error of a call that must fail. */
export const failureOf = async (call: Promise<unknown>): Promise<RpcFailure> => {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    const [detail, ...more] = error.findDetails(ErrorDetailSchema);
    if (!detail || more.length > 0) throw new Error(`not one ErrorDetail with ${error.message}`, { cause: error });
    const code = Code[error.code].replace(/(?!^)([A-Z])/g, "_$1").toLowerCase();
    return { code, message: error.rawMessage, metadata: error.metadata, detail };
  }
  throw new Error("the call succeeded");
};
