import { constants, type Http2Session } from "node:http2";
import { retiringTime, sessionCloseGrace } from "./limits.ts";

/** The largest number of a stream: a GOAWAY with it says that every stream is still served. */
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Has the client go to a new connection, and answers every call that it sent: the first GOAWAY asks for that, the second one says which
 * stream was the last, once the client has heard of the first, and so everything that it sent before is here. What is open then may
 * finish. Not later than that: node's own client keeps a call that it had not sent yet when it heard, and gives it back only with the second.
 */
export const retireSession = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
  const timer = setTimeout(() => session.close(), retiringTime).unref();
  session.once("close", () => clearTimeout(timer));
  session.ping(() => session.close());
};

/** Ends an HTTP/2 connection with everything on it; its GOAWAY says why. */
export const destroySession = (session: Http2Session): void => {
  // No error of ours, which `undefined` would make of it: node then takes the code for the error's, or sends none.
  session.destroy(null as unknown as undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
};

/** Ends an HTTP/2 connection with the same GOAWAY, but what is under way on it has a moment to end. */
export const closeSession = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.close();
  const timer = setTimeout(() => destroySession(session), sessionCloseGrace).unref();
  session.once("close", () => clearTimeout(timer));
};
