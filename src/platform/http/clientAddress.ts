import { isIP } from "node:net";
import { compileIpAllowlist, plainAddress } from "../base/ipAllowlist.ts";

/**
 * The name under which an address is counted: IPv6 by its first 64 bits, which are what one customer gets of a network
 * and may count up as he likes. `hidden` where a proxy does not say who calls.
 */
export const networkOf = (address: string | undefined): string => {
  if (address === undefined) return "hidden";
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  if (tail !== undefined)
    groups.push(...Array<string>(Math.max(0, 8 - groups.length - tail.split(":").length)).fill("0"), ...tail.split(":"));
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group || "0", 16).toString(16))
    .join(":");
};

/** What a call says about where it comes from. */
export interface CallOrigin {
  /** Address of the socket. */
  readonly remoteIp: string | undefined;
  /** The header `X-Forwarded-For`. */
  readonly forwardedFor: string | undefined;
}

/** Returns the address of the caller, undefined when there is none or nobody knows it. */
export type ClientAddress = (call: CallOrigin) => string | undefined;

/** `192.0.2.1:443`, `[2001:db8::1]` and `[2001:db8::1]:443`: some proxies write the port, too. */
const withPort = /^(?:(\d+\.\d+\.\d+\.\d+):\d+|\[([^\]]+)\](?::\d+)?)$/;

const addressOf = (hop: string): string | undefined => {
  const [, ipv4, ipv6] = withPort.exec(hop) ?? [];
  const address = ipv4 ?? ipv6 ?? hop;
  return isIP(address) === 0 ? undefined : plainAddress(address);
};

/**
 * Socket address, or behind trusted proxies the right-most entry of `X-Forwarded-For` that is not one of them
 * (protocol §11); the left-most one when all are. An entry that is no address, such as `unknown`, hides the caller:
 * it is not taken for the proxy that says so, whose own address may be allowed more.
 *
 * @param trustedProxies networks as `address/prefix`.
 */
export const createClientAddress = (trustedProxies: readonly string[]): ClientAddress => {
  if (trustedProxies.length === 0) return ({ remoteIp }) => (remoteIp === undefined ? undefined : plainAddress(remoteIp));
  const trusted = compileIpAllowlist(trustedProxies);

  return ({ remoteIp, forwardedFor }) => {
    if (remoteIp === undefined) return undefined;
    let address: string | undefined = plainAddress(remoteIp);
    // Empty entries of a list are no entries (RFC 9110 §5.6.1).
    const hops = forwardedFor?.split(",").flatMap((hop) => hop.trim() || []) ?? [];
    while (address !== undefined && trusted.allows(address)) {
      const hop = hops.pop();
      if (hop === undefined) break;
      address = addressOf(hop);
    }
    return address;
  };
};

/** Whether the other end of a connection hands on the calls of others. @param trustedProxies as for `createClientAddress`. */
export const createIsProxy = (trustedProxies: readonly string[]): ((remoteIp: string | undefined) => boolean) => {
  const trusted = compileIpAllowlist(trustedProxies);
  return (remoteIp) => trusted.allows(remoteIp);
};
