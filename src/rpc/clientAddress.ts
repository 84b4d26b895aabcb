import { BlockList, isIPv4, isIPv6 } from "node:net";
import { plainAddress } from "../domain/ipAllowlist.ts";
import type { IncomingCall } from "./incomingCall.ts";

/** The address of the caller of a procedure, or undefined when there is none. */
export type ClientAddress = (call: Pick<IncomingCall, "remoteIp" | "forwardedFor">) => string | undefined;

/**
 * Socket address, or behind trusted proxies the right-most entry of `X-Forwarded-For` that is not one of them
 * (protocol §11). An entry that is no address ends the chain: nothing to its left can be believed.
 *
 * @param trustedProxies networks as `address/prefix`.
 */
export const createClientAddress = (trustedProxies: readonly string[]): ClientAddress => {
  if (trustedProxies.length === 0) return ({ remoteIp }) => (remoteIp === undefined ? undefined : plainAddress(remoteIp));
  const trusted = new BlockList();
  for (const network of trustedProxies) {
    const [address = "", prefix = ""] = network.split("/");
    trusted.addSubnet(address, Number(prefix), isIPv4(address) ? "ipv4" : "ipv6");
  }
  const isTrusted = (address: string): boolean => trusted.check(address, isIPv4(address) ? "ipv4" : "ipv6");

  return ({ remoteIp, forwardedFor }) => {
    if (remoteIp === undefined) return undefined;
    let address = plainAddress(remoteIp);
    const hops = forwardedFor?.split(",").map((hop) => hop.trim()) ?? [];
    while (isTrusted(address)) {
      const next = hops.pop();
      if (next === undefined || !(isIPv4(next) || isIPv6(next))) break;
      address = plainAddress(next);
    }
    return address;
  };
};
