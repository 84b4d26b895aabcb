import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from "node:http2";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import type { Clock } from "../../../domain/clock.ts";
import type { Guarded } from "../../http/connectionGuard.ts";
import type { OpenedStream } from "../../http/handlers.ts";
import type { OtherEnd } from "../../pipeline/callSignal.ts";
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

  constructor(method: DescMethodUnary, { stream, headers, rawHeaders }: OpenedStream, clock: Clock, timeout?: number) {
    super(method, clock, timeout);
    this.stream = stream;
    this.requestHeaders = headers;
    this.rawHeaders = rawHeaders;
  }

  /** True when nobody can get the answer any more. */
  get isGone(): boolean {
    return this.stream.closed || this.stream.destroyed;
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
