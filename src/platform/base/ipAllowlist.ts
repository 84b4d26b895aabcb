import { BlockList, isIPv4, isIPv6 } from "node:net";

/** Which addresses may verify the keys of an API (verify §9). */
export interface IpAllowlist {
  /** False without an address, and for a text that is none. */
  readonly allows: (address: string | undefined) => boolean;
}

/** `::ffff:192.0.2.1` and its other spellings; more than these begin so, the canonical form decides. */
const maybeMapped = /^[0:]+:ffff:/i;
const canonicallyMapped = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/;

/**
 * An IPv4 address that is written as IPv6, in whatever way, is that IPv4 address (verify §9). A zone (`fe80::1%eth0`)
 * says on which of this machine's networks an address is, and is dropped. All other texts stay as they are.
 */
export const plainAddress = (address: string): string => {
  if (!address.includes(":") || !isIPv6(address)) return address;
  const [plain = ""] = address.split("%");
  if (!maybeMapped.test(plain)) return plain;
  const [, high, low] = canonicallyMapped.exec(new URL(`http://[${plain}]`).hostname) ?? [];
  if (high === undefined || low === undefined) return plain;
  const halves = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return halves.flatMap((half) => [half >> 8, half & 0xff]).join(".");
};

const IPV6_GROUPS = 8;

/** The number without what stands behind its first `kept` bits. */
const masked = (value: number, width: number, kept: number): number => {
  const dropped = Math.min(Math.max(width - kept, 0), width);
  return Math.floor(value / 2 ** dropped) * 2 ** dropped;
};

/** The address as RFC 5952 writes it: as the URL standard does. */
const canonicalIpv6 = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1);

/** The first address of a network, in the one way that it is written. */
const firstAddress = (address: string, length: number): string => {
  if (isIPv4(address)) {
    return address
      .split(".")
      .map((part, i) => masked(Number(part), 8, length - 8 * i))
      .join(".");
  }
  const [head = [], tail] = canonicalIpv6(address)
    .split("::")
    .map((half) => half.split(":").filter((group) => group !== ""));
  const zeros = tail === undefined ? 0 : IPV6_GROUPS - head.length - tail.length;
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...(tail ?? [])];
  return canonicalIpv6(groups.map((group, i) => masked(Number.parseInt(group, 16), 16, length - 16 * i).toString(16)).join(":"));
};

/**
 * Reads an address or a network, IPv4 or IPv6, as `address/prefix` in the one way that it is written: of a network its first
 * address, IPv6 as in RFC 5952. Undefined when it is neither. A network of mapped addresses, whose prefix counts from the
 * start of the IPv6 form, is one of IPv4.
 */
export const parseNetwork = (text: string): string | undefined => {
  const [written = "", prefix, ...rest] = text.split("/");
  if (rest.length > 0 || written.includes("%") || (prefix !== undefined && !/^\d{1,3}$/.test(prefix))) return undefined;
  const address = plainAddress(written);
  const width = isIPv4(address) ? 32 : isIPv6(address) ? 128 : -1;
  const length = prefix === undefined ? width : Number(prefix) - (address === written ? 0 : 96);
  return length >= 0 && length <= width ? `${firstAddress(address, length)}/${length}` : undefined;
};

/** Reads addresses and networks as `parseNetwork` does, each once; `malformed`: places of the texts that are neither. */
export const parseNetworks = (texts: readonly string[]): { readonly entries: readonly string[]; readonly malformed: readonly number[] } => {
  const read = texts.map(parseNetwork);
  return {
    entries: [...new Set(read.filter((entry) => entry !== undefined))],
    malformed: read.flatMap((entry, i) => (entry === undefined ? [i] : [])),
  };
};

/** Entries that a list may be given, as `apis.updateApi` has it. */
export const MOST_ENTRIES = 1_000;

/**
 * Reads a comma-separated list of addresses and networks; blanks around entries are dropped and an empty list is no
 * restriction. Returns the entries as `parseNetworks` does, or the first that is malformed, or how many there are if that is too many.
 */
export const parseIpAllowlist = (
  text: string,
): { readonly entries: readonly string[] } | { readonly malformed: string } | { readonly tooMany: number } => {
  if (text.trim() === "") return { entries: [] };
  const texts = text.split(",").map((entry) => entry.trim());
  if (texts.length > MOST_ENTRIES) return { tooMany: texts.length };
  const { entries, malformed } = parseNetworks(texts);
  const [first] = malformed.flatMap((i) => texts.slice(i, i + 1));
  return first === undefined ? { entries } : { malformed: first };
};

const compile = (entries: readonly string[]): IpAllowlist => {
  // Apart, because a list takes every IPv4 address for a part of `::/0`.
  const ipv4 = new BlockList();
  const ipv6 = new BlockList();
  for (const entry of entries) {
    const [address = "", prefix = ""] = entry.split("/");
    if (isIPv4(address)) ipv4.addSubnet(address, Number(prefix), "ipv4");
    else ipv6.addSubnet(address, Number(prefix), "ipv6");
  }
  return {
    allows: (address) => {
      if (address === undefined) return false;
      const plain = plainAddress(address);
      return isIPv4(plain) ? ipv4.check(plain, "ipv4") : ipv6.check(plain, "ipv6");
    },
  };
};

/** A compiled list takes kilobytes, and every key of an API is verified against the same. */
const compiled = new WeakMap<readonly string[], IpAllowlist>();

/** @param entries as `parseIpAllowlist` returns them; compiled once for each array. */
export const compileIpAllowlist = (entries: readonly string[]): IpAllowlist => {
  let list = compiled.get(entries);
  if (list === undefined) {
    list = compile(entries);
    compiled.set(entries, list);
  }
  return list;
};

/**
 * The first entry that allows the address by itself; undefined when none does. By halves: a compiled list for each entry of
 * a long list would hold up the event loop.
 */
export const matchingEntry = (entries: readonly string[], address: string | undefined): string | undefined => {
  if (!compileIpAllowlist(entries).allows(address)) return undefined;
  let found = entries;
  while (found.length > 1) {
    const half = found.length >> 1;
    const head = found.slice(0, half);
    found = compile(head).allows(address) ? head : found.slice(half);
  }
  return found[0];
};
