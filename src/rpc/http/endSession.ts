import { constants, type Http2Session } from "node:http2";
import { retiringTime, sessionCloseGrace } from "./limits.ts";

/** The largest number of a stream: a GOAWAY with it says that every stream is still served. */
const ANY_STREAM = 2 ** 31 - 1;

/**
 * Has the client go to a new connection, and loses none of its calls: the first GOAWAY asks for that, the second one, once everything that
 * was begun before the first was heard of is here, says which stream was the last. What is open then may finish.
 */
export const retireSession = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, ANY_STREAM);
  const timer = setTimeout(() => session.close(), retiringTime).unref();
  session.once("close", () => clearTimeout(timer));
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
