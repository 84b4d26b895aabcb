import { constants, type Http2Session } from "node:http2";
import { dismissGrace } from "./limits.ts";

/** Ends an HTTP/2 connection with everything on it; its GOAWAY says why. */
export const expel = (session: Http2Session): void => {
  // No error of ours, which `undefined` would make of it: node then takes the code for the error's, or sends none.
  session.destroy(null as unknown as undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
};

/** Ends an HTTP/2 connection with the same GOAWAY, but what is under way on it has a moment to end. */
export const dismiss = (session: Http2Session): void => {
  if (session.closed || session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session.close();
  const timer = setTimeout(() => expel(session), dismissGrace).unref();
  session.once("close", () => clearTimeout(timer));
};
