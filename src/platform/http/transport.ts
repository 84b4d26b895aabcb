import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { plainAddress } from "../base/ipAllowlist.ts";
import { valuesOf } from "./headerFields.ts";

/** How a request of the console came (console §1, §2.2). */
export interface Transport {
  /** `tls`: encrypted as far as the service, or as a trusted proxy that says so; `loopback`: it never left the machine. */
  readonly by: "tls" | "loopback" | "plain";
  readonly scheme: "https" | "http";
  /** `Host` as a URL has it, with a port that is not the scheme's own; undefined for none, several, or what is no host. */
  readonly host: string | undefined;
  /** `Host` is a name of the machine itself. */
  readonly isLocalName: boolean;
  /** Of this end of the connection. */
  readonly port: number | undefined;
}

const local = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;
const loopbackAddress = /^127\.|^::1$/;
const hostText = /^[A-Za-z0-9.\-_[\]:]{1,255}$/;

const isLocal = (host: string | undefined): boolean => local.test((host ?? "").replace(/:\d+$/, ""));

const hostOf = ({ headers, rawHeaders }: IncomingMessage, scheme: string): string | undefined => {
  const given = [...valuesOf(rawHeaders, "host"), ...valuesOf(rawHeaders, ":authority")];
  const [host = ""] = given.length === 0 ? [headers.host] : given;
  const isOne = given.every((each) => each === host);
  return isOne && hostText.test(host) && URL.canParse(`${scheme}://${host}`) ? new URL(`${scheme}://${host}`).host : undefined;
};

/** @param isProxy whether the other end of a connection is a trusted proxy. */
export const transportOf = (req: IncomingMessage, isProxy: (remoteIp: string | undefined) => boolean): Transport => {
  const { socket, rawHeaders } = req;
  const saidBy = valuesOf(rawHeaders, "x-forwarded-proto").join(",");
  const isEncrypted = (socket as Partial<TLSSocket>).encrypted === true;
  const remoteIp = socket.remoteAddress === undefined ? undefined : plainAddress(socket.remoteAddress);
  const isSaid = isProxy(remoteIp) && /^\s*https\s*(,\s*https\s*)*$/i.test(saidBy);
  const scheme = isEncrypted || isSaid ? "https" : "http";
  const host = hostOf(req, scheme);
  const isLocalName = isLocal(host);
  const isHandedOn = rawHeaders.some((name, i) => i % 2 === 0 && /^(forwarded|x-forwarded-.*)$/i.test(name));
  const isLoopback = loopbackAddress.test(remoteIp ?? "") && isLocalName && !isHandedOn;
  const by = scheme === "https" ? "tls" : isLoopback ? "loopback" : "plain";
  return { by, scheme, host, isLocalName, port: socket.localPort };
};

/** Whether an origin is one of the console's own (console §1). */
export interface OwnOrigins {
  readonly isOurs: (origin: string, transport: Transport) => boolean;
  /** The address that a request names is ours: anything else below `/ui` is refused, as DNS may be made to say what it likes. */
  readonly isAddressed: (transport: Transport) => boolean;
}

/** @param publicUrl origin of `PUBLIC_URL`; left out: the names of the machine itself, with the port that the request came to. */
export const createOwnOrigins = (publicUrl: string | undefined): OwnOrigins => {
  if (publicUrl !== undefined) {
    const { origin, protocol } = new URL(publicUrl);
    return {
      isOurs: (given) => given === origin,
      isAddressed: ({ host }) =>
        host !== undefined && URL.canParse(`${protocol}//${host}`) && new URL(`${protocol}//${host}`).origin === origin,
    };
  }
  const isOurs: OwnOrigins["isOurs"] = (origin, { scheme, port }) => {
    const [, host = ""] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
    if (!origin.startsWith(`${scheme}://`) || !hostText.test(host) || !URL.canParse(origin)) return false;
    const url = new URL(origin);
    return local.test(url.hostname) && Number(url.port || (scheme === "https" ? 443 : 80)) === port;
  };
  return {
    isOurs,
    isAddressed: (transport) => transport.host !== undefined && isOurs(`${transport.scheme}://${transport.host}`, transport),
  };
};
