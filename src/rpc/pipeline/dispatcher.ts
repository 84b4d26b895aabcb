import type { ConnectEdge } from "../edges/connect/connectEdge.ts";
import { isConsoleRequest } from "../edges/console/consoleEdge.ts";
import type { RequestHandler } from "../http/handlers.ts";

/** Everything below it is `/v2`, however the request is written. */
const gatewayPrefix = "/v2/";

/** The handler of the port: `/v2` and all that is nobody's to the gateway, RPC to its edge (DESIGN §1), `/ui` to the console, if this port has it. */
export const createDispatcher =
  (gateway: RequestHandler, connect: ConnectEdge, console?: RequestHandler): RequestHandler =>
  (req, res) => {
    if (console !== undefined && isConsoleRequest(req)) console(req, res);
    else if (!req.url?.startsWith(gatewayPrefix) && connect.accepts(req)) connect.handle(req, res);
    else gateway(req, res);
  };

/** The handler of a port that has nothing but the console: every other path is nobody's. */
export const createOnlyConsole = (notFound: RequestHandler, console: RequestHandler): RequestHandler => {
  return (req, res) => (isConsoleRequest(req) ? console(req, res) : notFound(req, res));
};
