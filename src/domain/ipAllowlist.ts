import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Which addresses may verify the keys of an API (verify §9). */
export interface IpAllowlist {
  /** False without an address. */
  readonly allows: (address: string | undefined) => boolean;
}

const MAPPED_PREFIX = "::ffff:";

/** An IPv4 address that is written as IPv6 (`::ffff:192.0.2.1`) is that IPv4 address. */
export const plainAddress = (address: string): string =>
  address.toLowerCase().startsWith(MAPPED_PREFIX) && isIPv4(address.slice(MAPPED_PREFIX.length))
    ? address.slice(MAPPED_PREFIX.length)
    : address;

/**
 * Reads a comma-separated list of addresses and networks, IPv4 or IPv6, as `address/prefix`; blanks around entries are
 * dropped and an empty list is no restriction. Undefined entries are the problem: returns the first that is malformed.
 */
export const parseIpAllowlist = (text: string): { readonly entries: readonly string[] } | { readonly malformed: string } => {
  const entries: string[] = [];
  for (const item of text.split(",").map((entry) => entry.trim())) {
    if (item === "" && text.trim() === "") break;
    const [written = "", prefix, ...rest] = item.split("/");
    const address = plainAddress(written);
    const width = isIPv4(address) ? 32 : isIPv6(address) && !address.includes("%") ? 128 : undefined;
    if (width === undefined || rest.length > 0) return { malformed: item };
    // A network of mapped addresses counts its prefix from the start of the IPv6 form.
    const length = prefix === undefined ? width : Number(prefix) - (address === written ? 0 : 96);
    if ((prefix !== undefined && !/^\d{1,3}$/.test(prefix)) || length < 0 || length > width) return { malformed: item };
    entries.push(`${address}/${length}`);
  }
  return { entries };
};

/** @param entries as `parseIpAllowlist` returns them. */
export const compileIpAllowlist = (entries: readonly string[]): IpAllowlist => {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix = ""] = entry.split("/");
    list.addSubnet(address, Number(prefix), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return {
    allows: (address) => {
      if (address === undefined) return false;
      const plain = plainAddress(address);
      return list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
    },
  };
};
