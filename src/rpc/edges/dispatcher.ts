import type { RequestHandler } from "../http/handlers.ts";
import type { ConnectEdge } from "./connect/connectEdge.ts";

/** Everything below it is `/v2`, however the request is written. */
const gatewayPrefix = "/v2/";

/** The handler of the port: `/v2` and all that is nobody's to the gateway, RPC to its edge (DESIGN §1). */
export const createDispatcher =
  (gateway: RequestHandler, connect: ConnectEdge): RequestHandler =>
  (req, res) => {
    if (!req.url?.startsWith(gatewayPrefix) && connect.accepts(req)) connect.handle(req, res);
    else gateway(req, res);
  };
