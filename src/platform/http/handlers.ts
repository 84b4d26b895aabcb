import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";

/** Takes a request of either protocol: HTTP/2 requests come in node's compatibility API, which has the same shape. */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

/** A stream with what it was opened with. */
export interface OpenedStream {
  readonly stream: ServerHttp2Stream;
  /** As node parsed them; of several fields of one name it may have kept one. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values, in turns. */
  readonly rawHeaders: readonly string[];
}

/** Takes a stream of HTTP/2 if it is a unary gRPC call of ours, and says whether it did. */
export type StreamHandler = (opened: OpenedStream) => boolean;
