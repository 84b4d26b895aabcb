import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Clock } from "../../base/clock.ts";
import type { Violation } from "../../base/errors.ts";
import type { Guarded } from "../../http/connectionGuard.ts";
import { http2Stream, isGone } from "../../http/http2Stream.ts";
import { type BodyReader, readBody } from "../../http/readBody.ts";
import type { EdgeName } from "../../telemetry/callMetrics.ts";
import type { OtherEnd } from "../callSignal.ts";
import { EdgeCall } from "./edgeCall.ts";

/** A call that came as a request of node:http, or in the same shape over HTTP/2. */
export class HttpCall extends EdgeCall {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;

  constructor(
    edge: EdgeName,
    method: DescMethodUnary,
    req: IncomingMessage,
    res: ServerResponse,
    clock: Clock,
    timeout?: number | Violation,
  ) {
    super(edge, method, clock, timeout);
    this.req = req;
    this.res = res;
  }

  get isGone(): boolean {
    return isGone(this.res);
  }

  readBody(limit: number, overhead: number, done: BodyReader): void {
    readBody(this.req, this.res, limit, this, done, overhead);
  }

  destroy(): void {
    this.res.destroy();
  }

  get requestHeaders(): IncomingHttpHeaders {
    return this.req.headers;
  }

  protected get rawHeaders(): readonly string[] {
    return this.req.rawHeaders;
  }

  protected get remoteAddress(): string | undefined {
    return this.req.socket.remoteAddress;
  }

  protected get session(): Guarded | undefined {
    return http2Stream(this.req)?.session as Guarded | undefined;
  }

  protected get otherEnd(): OtherEnd {
    const { req, res } = this;
    // HTTP/2 tells the end of one request by the end of its stream; its socket serves others.
    const socket = req.httpVersionMajor === 1 ? req.socket : undefined;
    return {
      isGone: () => isGone(res) || socket?.readableEnded === true,
      watch: (gone) => {
        res.once("close", gone);
        socket?.once("end", gone);
        return () => {
          res.off("close", gone);
          socket?.off("end", gone);
        };
      },
    };
  }
}
