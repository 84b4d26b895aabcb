import { constants, type Http2Session } from "node:http2";
import { sessionCloseGrace } from "./limits.ts";

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
