import type { IncomingMessage } from "node:http";
import { headerText } from "../../../platform/http/headerFields.ts";
import type { OwnOrigins, Transport } from "../../../platform/http/transport.ts";

/** What the page says that a call is, in the header `x-latchkey-ui`. */
export type CallKind = "1" | "background" | "export";

/** Of the header; undefined for anything else, so of a request that no page of ours made. */
export const callKindOf = ({ headers }: IncomingMessage): CallKind | undefined => {
  const said = headerText(headers["x-latchkey-ui"]);
  return said === "1" || said === "background" || said === "export" ? said : undefined;
};

/**
 * Why a request to `/ui/rpc` was not made by a page of ours, as far as its browser tells (console §2.5); undefined when nothing
 * speaks against it.
 */
export const foreignSign = (req: IncomingMessage, transport: Transport, origins: OwnOrigins): string | undefined => {
  const { headers } = req;
  const origin = headerText(headers.origin);
  const site = headerText(headers["sec-fetch-site"]);
  if (callKindOf(req) === undefined) return "The header x-latchkey-ui is missing: this address is for the pages of the console.";
  if (site !== undefined && site !== "same-origin") return "The request comes from a page of another site.";
  if (origin !== undefined && !origins.isOurs(origin, transport)) return "The header Origin names another origin than the console's.";
  if (site === undefined && origin === undefined)
    return "The headers Sec-Fetch-Site and Origin are missing: one of them has to tell where the request comes from.";
  return undefined;
};
