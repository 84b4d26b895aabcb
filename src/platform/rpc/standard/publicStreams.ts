import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2Session } from "node:http2";
import type { Capacity } from "../../http/capacity.ts";
import { type ClientAddress, networkOf } from "../../http/clientAddress.ts";
import type { Guarded } from "../../http/connectionGuard.ts";
import { closeSession } from "../../http/endSession.ts";
import { headerText } from "../../http/headerFields.ts";
import { http2Stream } from "../../http/http2Stream.ts";

/** Streams that need no credentials and may stay open: few for each connection and address, and not for those who do not read. */
export interface PublicStreams {
  /** Whether a stream may begin; it counts until it is closed. @param units what it takes. */
  readonly admit: (req: IncomingMessage, res: ServerResponse, units: number) => boolean;
}

/**
 * Calls `expired` when what was written stays where it is for `timeout` ms, and looks twice in that time.
 * Returns what ends that.
 */
const watchReader = (res: ServerResponse, timeout: number, expired: () => void): (() => void) => {
  let stuckAt: number | undefined;
  const moved = () => {
    stuckAt = undefined;
  };
  res.on("drain", moved);
  const pending = (): number => http2Stream(res.req)?.writableLength ?? res.writableLength;
  let looks = 0;
  const timer = setInterval(() => {
    const now = pending();
    looks = now > 0 && now === stuckAt ? looks + 1 : 0;
    stuckAt = now > 0 ? now : undefined;
    if (looks === 2) expired();
  }, timeout / 2).unref();
  return () => {
    clearInterval(timer);
    res.off("drain", moved);
  };
};

/** @param unreadTimeout how long an answer may stay unread, in milliseconds. */
export const createPublicStreams = (
  { publicStreams }: Pick<Capacity, "publicStreams">,
  clientAddress: ClientAddress,
  unreadTimeout: number,
): PublicStreams => {
  const connections = new WeakMap<object, string>();
  let count = 0;
  const nameOf = (connection: object): string => {
    const name = connections.get(connection) ?? `${++count}`;
    connections.set(connection, name);
    return name;
  };

  return {
    admit: (req, res, units) => {
      const stream = http2Stream(req);
      const address = clientAddress({ remoteIp: req.socket.remoteAddress, forwardedFor: headerText(req.headers["x-forwarded-for"]) });
      const end = () => {
        share?.give();
        if (stream) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
        else res.destroy();
      };
      const share = publicStreams.take([networkOf(address), nameOf(stream?.session ?? req.socket)], units, end);
      if (share === undefined) {
        const session: (Http2Session & Guarded) | undefined = stream?.session;
        if (session?.guard?.refuse(true) === false) closeSession(session);
        return false;
      }
      const unwatch = watchReader(res, unreadTimeout, end);
      const closed = () => {
        unwatch();
        share.give();
      };
      if (stream) stream.once("close", closed);
      else res.once("close", closed);
      return true;
    },
  };
};
