import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";

/** Takes a request of either protocol: HTTP/2 requests come in node's compatibility API, which has the same shape. */
export type RequestHandler = (req: IncomingMessage, res: ServerResponse) => void;

/** Takes a stream of HTTP/2 if it is a unary gRPC call of ours, and says whether it did. */
export type StreamHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean;
