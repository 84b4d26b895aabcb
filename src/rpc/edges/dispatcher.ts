import type { RequestHandler } from "../http/handlers.ts";
import type { ConnectEdge } from "./connect/connectEdge.ts";
import { isConsoleRequest } from "./console/consoleEdge.ts";

/** Everything below it is `/v2`, however the request is written. */
const v2Prefix = "/v2/";

/** The handler of the port: `/v2` and all that is nobody's to its edge, RPC to its own (DESIGN §1), `/ui` to the console, if this port has it. */
export const createDispatcher =
  (v2: RequestHandler, connect: ConnectEdge, console?: RequestHandler): RequestHandler =>
  (req, res) => {
    if (console !== undefined && isConsoleRequest(req)) console(req, res);
    else if (!req.url?.startsWith(v2Prefix) && connect.accepts(req)) connect.handle(req, res);
    else v2(req, res);
  };

/** The handler of a port that has nothing but the console: every other path is nobody's. */
export const createOnlyConsole =
  (notFound: RequestHandler, console: RequestHandler): RequestHandler =>
  (req, res) =>
    isConsoleRequest(req) ? console(req, res) : notFound(req, res);
