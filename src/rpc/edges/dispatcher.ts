import type { RequestHandler } from "../http/handlers.ts";
import type { ConnectEdge } from "./connect/connectEdge.ts";

/** Everything below it is `/v2`, however the request is written. */
const v2Prefix = "/v2/";

/** The handler of the port: `/v2` and all that is nobody's to its edge, RPC to the other (DESIGN §1). */
export const createDispatcher =
  (v2: RequestHandler, connect: ConnectEdge): RequestHandler =>
  (req, res) => {
    if (!req.url?.startsWith(v2Prefix) && connect.accepts(req)) connect.handle(req, res);
    else v2(req, res);
  };
