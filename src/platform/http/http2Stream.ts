import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, ServerHttp2Stream } from "node:http2";

/** The stream below a request of node's HTTP/2 compatibility API, undefined for HTTP/1.1. */
export const http2Stream = (req: IncomingMessage): ServerHttp2Stream | undefined =>
  (req as Partial<Pick<Http2ServerRequest, "stream">>).stream;

/** True when nobody can get this answer any more. */
export const isGone = (res: ServerResponse): boolean => {
  const stream = http2Stream(res.req);
  return stream ? stream.closed || stream.destroyed : res.closed || res.destroyed;
};
