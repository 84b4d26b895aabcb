import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { IncomingCall } from "./incomingCall.ts";

/** The address of the caller of a procedure, or undefined when there is none. */
export type ClientAddress = (call: Pick<IncomingCall, "remoteIp" | "forwardedFor">) => string | undefined;

/** An IPv4 address that is written as IPv6 (`::ffff:192.0.2.1`) is that IPv4 address. */
const plain = (address: string): string =>
  address.toLowerCase().startsWith("::ffff:") && isIPv4(address.slice(7)) ? address.slice(7) : address;

/**
 * Socket address, or behind trusted proxies the right-most entry of `X-Forwarded-For` that is not one of them
 * (protocol §11). An entry that is no address ends the chain: nothing to its left can be believed.
 *
 * @param trustedProxies networks as `address/prefix`.
 */
export const createClientAddress = (trustedProxies: readonly string[]): ClientAddress => {
  if (trustedProxies.length === 0) return ({ remoteIp }) => (remoteIp === undefined ? undefined : plain(remoteIp));
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = "", prefix = ""] = network.split("/");
    trusted.addSubnet(address, Number(prefix), isIPv4(address) ? "ipv4" : "ipv6");
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv4(address) ? "ipv4" : "ipv6");

  return ({ remoteIp, forwardedFor }) => {
    if (remoteIp === undefined) return undefined;
    let address = plain(remoteIp);
    const hops = forwardedFor?.split(",").map((hop) => hop.trim()) ?? [];
    while (isTrusted(address)) {
      const next = hops.pop();
      if (next === undefined || !(isIPv4(next) || isIPv6(next))) break;
      address = plain(next);
    }
    return address;
  };
};
