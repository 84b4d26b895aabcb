import { constants, type Http2Session } from "node:http2";
import { pingTimeout, retiringTime, sessionCloseGrace } from "./limits.ts";

/** The largest number of a stream. */
const ANY_STREAM = 2 ** 31 - 1;
/** How often a session is looked at whose client does not read, in milliseconds. */
const WRITTEN_CHECK_INTERVAL = 10;

/**
 * Has the client go to a new connection; what is open on this one may finish. A call that crosses the GOAWAY on its way is not begun, and its
 * client is told so: the first GOAWAY names no stream as the last, and once it is written node takes none any more; the second one names
 * the last that was taken. One alone could name a stream too early, and have a call made again that another frame had brought in between.
 */
const retireSession = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
  let checks = retiringTime / WRITTEN_CHECK_INTERVAL;
  const closeOnceWritten = (): void => {
    if (session.closed || session.destroyed) return;
    const { outboundQueueSize = 0 } = session.state;
    if (outboundQueueSize === 0 || checks-- === 0) session.close();
    else setTimeout(closeOnceWritten, WRITTEN_CHECK_INTERVAL).unref();
  };
  setImmediate(closeOnceWritten);
};

/**
 * Has the client go with its next call, as `Connection: close` has it over HTTP/1.1: while that call is open, a client that makes one at
 * a time, as nginx does, sends no other that could cross the GOAWAY. One that makes none is asked to go later.
 * @param within how long the next call is awaited, in milliseconds.
 */
export const retireWithNextCall = (session: Http2Session, within: number): void => {
  const retire = (): void => {
    clearTimeout(timer);
    session.off("stream", retire);
    retireSession(session);
  };
  const timer = setTimeout(retire, within).unref();
  session.on("stream", retire).once("close", () => clearTimeout(timer));
};

/** Ends an HTTP/2 connection with everything on it; its GOAWAY says why. */
export const destroySession = (session: Http2Session): void => {
  // No error of ours, which `undefined` would make of it: node then takes the code for the error's, or sends none.
  session.destroy(null as unknown as undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
};

/**
 * Destroys a connection whose client says that it is leaving, unless it answers a PING. After an invalid frame behind a GOAWAY, Node reads
 * nothing any more, reports nothing, and keeps the connection and its open streams forever. Does nothing once the session is closed: Node
 * sends no PING then.
 */
export const destroyUnlessAlive = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  const timer = setTimeout(() => session.destroy(), pingTimeout).unref();
  session.once("close", () => clearTimeout(timer));
  session.ping((error) => {
    clearTimeout(timer);
    if (error) session.destroy();
  });
};

/** Ends an HTTP/2 connection with the same GOAWAY, but what is under way on it has a moment to end. */
export const closeSession = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.close();
  const timer = setTimeout(() => destroySession(session), sessionCloseGrace).unref();
  session.once("close", () => clearTimeout(timer));
};
