import { isConsoleRequest } from "../features/console/edge/consoleEdge.ts";
import { isDocumentationRequest } from "../platform/documentation/documentationEdge.ts";
import type { RequestHandler } from "../platform/http/handlers.ts";
import type { ConnectEdge } from "../platform/rpc/edges/connect/connectEdge.ts";

/** Everything below it is `/v2`, however the request is written. */
const v2Prefix = "/v2/";

/** What has addresses of its own beside those of procedures, if this port has it. */
interface Pages {
  readonly console?: RequestHandler | undefined;
  readonly documentation?: RequestHandler | undefined;
}

/** The handler of the port: `/v2` and all that is nobody's to its edge, RPC to its own (DESIGN §1), `/ui` to the console, `/docs` to the documentation. */
export const createDispatcher =
  (v2: RequestHandler, connect: ConnectEdge, { console, documentation }: Pages = {}): RequestHandler =>
  (req, res) => {
    if (req.url?.startsWith(v2Prefix)) v2(req, res);
    else if (console !== undefined && isConsoleRequest(req)) console(req, res);
    else if (connect.accepts(req)) connect.handle(req, res);
    else if (documentation !== undefined && isDocumentationRequest(req)) documentation(req, res);
    else v2(req, res);
  };

/** The handler of a port that has no procedures: what is neither the console's nor the documentation's is nobody's. */
export const createOnlyPages =
  (notFound: RequestHandler, { console, documentation }: Pages): RequestHandler =>
  (req, res) => {
    if (console !== undefined && isConsoleRequest(req)) console(req, res);
    else if (documentation !== undefined && isDocumentationRequest(req)) documentation(req, res);
    else notFound(req, res);
  };
