import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Clock } from "../../../base/clock.ts";
import type { Violation } from "../../../base/errors.ts";
import type { Guarded } from "../../../http/connectionGuard.ts";
import type { OpenedStream } from "../../../http/handlers.ts";
import { type BodyReader, collectBody } from "../../../http/readBody.ts";
import type { OtherEnd } from "../../callSignal.ts";
import { EdgeCall } from "../edgeCall.ts";

/** A session's socket is a proxy that is slow to ask, and its address does not change. */
const addresses = new WeakMap<ServerHttp2Session, string | undefined>();

const addressOf = (session: ServerHttp2Session | undefined): string | undefined => {
  if (session === undefined || session.destroyed) return undefined;
  let address = addresses.get(session);
  if (address === undefined) {
    address = session.socket.remoteAddress;
    addresses.set(session, address);
  }
  return address;
};

/** A call that came as a stream of HTTP/2. */
export class GrpcCall extends EdgeCall {
  readonly stream: ServerHttp2Stream;
  readonly requestHeaders: IncomingHttpHeaders;
  protected readonly rawHeaders: readonly string[];

  constructor(method: DescMethodUnary, { stream, headers, rawHeaders }: OpenedStream, clock: Clock, timeout?: number | Violation) {
    super("grpc", method, clock, timeout);
    this.stream = stream;
    this.requestHeaders = headers;
    this.rawHeaders = rawHeaders;
  }

  get isGone(): boolean {
    return this.stream.closed || this.stream.destroyed;
  }

  readBody(limit: number, overhead: number, done: BodyReader): void {
    const declared = this.requestHeaders["content-length"];
    collectBody(this.stream, { declared, limit, overhead, timed: true, isGone: this.isGone, owner: this }, done);
  }

  destroy(): void {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  protected get remoteAddress(): string | undefined {
    return addressOf(this.stream.session as ServerHttp2Session | undefined);
  }

  protected get session(): Guarded | undefined {
    return this.stream.session as Guarded | undefined;
  }

  protected get otherEnd(): OtherEnd {
    const { stream } = this;
    return {
      isGone: () => this.isGone,
      watch: (gone) => {
        stream.once("close", gone);
        return () => stream.off("close", gone);
      },
    };
  }
}
