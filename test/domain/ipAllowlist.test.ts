import { isIPv4 } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileIpAllowlist, matchingEntry, parseIpAllowlist, parseNetwork, plainAddress } from "../../src/platform/base/ipAllowlist.ts";

const entriesOf = (text: string): readonly string[] => {
  const parsed = parseIpAllowlist(text);
  if (!("entries" in parsed)) throw new Error(`refused: ${JSON.stringify(parsed)}`);
  return parsed.entries;
};
const allows = (text: string, address: string | undefined): boolean => compileIpAllowlist(entriesOf(text)).allows(address);

describe("[verify §9] the entries of a list", () => {
  test.each([
    ["192.0.2.1", ["192.0.2.1/32"]],
    ["192.0.2.0/24", ["192.0.2.0/24"]],
    ["0.0.0.0/0", ["0.0.0.0/0"]],
    ["2001:db8::1", ["2001:db8::1/128"]],
    ["2001:db8::/32", ["2001:db8::/32"]],
    ["2001:DB8:0:0:0:0:0:1", ["2001:db8::1/128"]],
    ["2001:0DB8::0001", ["2001:db8::1/128"]],
    ["2001:db8:0:1:1:1:1:1", ["2001:db8:0:1:1:1:1:1/128"]],
    ["2001:0:0:1:0:0:0:1", ["2001:0:0:1::1/128"]],
    ["2001:db8:0:0:1:0:0:1", ["2001:db8::1:0:0:1/128"]],
    ["0:0:0:0:0:0:0:0", ["::/128"]],
    ["1:2:3:4:5:6:7::", ["1:2:3:4:5:6:7:0/128"]],
    ["64:ff9b::192.0.2.1", ["64:ff9b::c000:201/128"]],
    ["192.0.2.7/24", ["192.0.2.0/24"]],
    ["192.0.2.255/31", ["192.0.2.254/31"]],
    ["255.255.255.255/1", ["128.0.0.0/1"]],
    ["10.1.2.3/0", ["0.0.0.0/0"]],
    ["192.0.2.1/032", ["192.0.2.1/32"]],
    ["2001:db8:ffff::1/33", ["2001:db8:8000::/33"]],
    ["ffff:ffff::/1", ["8000::/1"]],
    ["1:2:3:4:5:6:7:ffff/127", ["1:2:3:4:5:6:7:fffe/127"]],
    ["::ffff:1:2:3/64", ["::/64"]],
    ["::1/0", ["::/0"]],
    ["::ffff:10.1.2.3/104", ["10.0.0.0/8"]],
    ["10.1.2.3/8,10.0.0.0/8,10.255.0.0/8", ["10.0.0.0/8"]],
    ["2001:DB8::/32,2001:db8:0:0::5/32", ["2001:db8::/32"]],
    ["::/0", ["::/0"]],
    ["::ffff:192.0.2.1", ["192.0.2.1/32"]],
    ["::FFFF:c000:201", ["192.0.2.1/32"]],
    ["0:0:0:0:0:ffff:192.0.2.1", ["192.0.2.1/32"]],
    ["::ffff:10.0.0.0/104", ["10.0.0.0/8"]],
    ["::ffff:0:0/96", ["0.0.0.0/0"]],
    [" 192.0.2.1 ,\t10.0.0.0/8,2001:db8::/32 ", ["192.0.2.1/32", "10.0.0.0/8", "2001:db8::/32"]],
  ])("%j is accepted", (text, entries) => {
    expect(parseIpAllowlist(text)).toEqual({ entries });
  });

  test.each(["", " ", "\t"])("%j is no restriction", (text) => {
    expect(parseIpAllowlist(text)).toEqual({ entries: [] });
  });

  test.each([
    ["example.com", "example.com"],
    ["192.0.2", "192.0.2"],
    ["192.0.2.256", "192.0.2.256"],
    ["192.0.2.01", "192.0.2.01"],
    ["0x7f.0.0.1", "0x7f.0.0.1"],
    ["3221225985", "3221225985"],
    ["192.0.2.1:80", "192.0.2.1:80"],
    ["[2001:db8::1]", "[2001:db8::1]"],
    ["10.0.0.0/33", "10.0.0.0/33"],
    ["10.0.0.0/-1", "10.0.0.0/-1"],
    ["10.0.0.0/", "10.0.0.0/"],
    ["10.0.0.0/8/8", "10.0.0.0/8/8"],
    ["10.0.0.0/255.0.0.0", "10.0.0.0/255.0.0.0"],
    ["10.0.0.0/1e1", "10.0.0.0/1e1"],
    ["10.0.0.0 / 8", "10.0.0.0 / 8"],
    ["2001:db8::/129", "2001:db8::/129"],
    ["2001:db8::1::2", "2001:db8::1::2"],
    ["fe80::1%eth0", "fe80::1%eth0"],
    ["::ffff:10.0.0.0/95", "::ffff:10.0.0.0/95"],
    ["::ffff:10.0.0.0/8", "::ffff:10.0.0.0/8"],
    ["/8", "/8"],
    ["*", "*"],
    ["192.0.2.1,", ""],
    [",", ""],
    ["192.0.2.1;192.0.2.2", "192.0.2.1;192.0.2.2"],
    ["192.0.2.1,nowhere,neither", "nowhere"],
  ])("%j is refused", (text, malformed) => {
    expect(parseIpAllowlist(text)).toEqual({ malformed });
  });
});

describe("[verify §9] whom a list lets in", () => {
  test.each([
    ["192.0.2.1", "192.0.2.1", true],
    ["192.0.2.1", "192.0.2.2", false],
    ["192.0.2.1", "192.0.2.10", false],
    ["192.0.2.7/24", "192.0.2.255", true],
    ["192.0.2.0/24", "192.0.3.0", false],
    ["128.0.0.0/1", "128.0.0.1", true],
    ["128.0.0.0/1", "127.255.255.255", false],
    ["0.0.0.0/0", "255.255.255.255", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["2001:db8::1", "2001:DB8:0::0:1", true],
    ["2001:db8::/33", "2001:db8:7fff:ffff::", true],
    ["2001:db8::/33", "2001:db8:8000::", false],
    ["::/0", "2001:db8::1", true],
    ["fe80::/10", "fe80::1%eth0", true],
    ["10.0.0.0/8,2001:db8::/32", "2001:db8::1", true],
    ["10.0.0.0/8,2001:db8::/32", "10.9.8.7", true],
    ["10.0.0.0/8,2001:db8::/32", "11.0.0.0", false],
  ])("%s, %s: %j", (list, address, allowed) => {
    expect(allows(list, address)).toBe(allowed);
  });

  test.each([
    "::ffff:192.0.2.1",
    "::FFFF:192.0.2.1",
    "::ffff:c000:201",
    "::ffff:c000:0201",
    "0:0:0:0:0:ffff:192.0.2.1",
    "0000::ffff:c000:0201",
  ])("%s is the IPv4 address, on either side", (mapped) => {
    expect(plainAddress(mapped)).toBe("192.0.2.1");
    expect(allows("192.0.2.0/24", mapped)).toBe(true);
    expect(allows(mapped, "192.0.2.1")).toBe(true);
    expect(allows("::ffff:0:0/96", mapped)).toBe(true);
  });

  test.each(["::ffff:0:c000:201", "::ffff:1", "::fffe:c000:201", "1::ffff:c000:201", "64:ff9b::192.0.2.1", "::192.0.2.1", "::1"])(
    "%s is no IPv4 address",
    (address) => {
      expect(plainAddress(address)).toBe(address);
      expect(allows("0.0.0.0/0", address)).toBe(false);
    },
  );

  test("an IPv4 address is on no IPv6 network, not even on all of them", () => {
    for (const list of ["::/0", "::/64", "::/96"]) {
      expect(allows(list, "192.0.2.1")).toBe(false);
      expect(allows(list, "::ffff:192.0.2.1")).toBe(false);
    }
  });

  test("no address, and a text that is none, are on no list", () => {
    for (const address of [undefined, "", "unknown", "192.0.2", "192.0.2.1:80", "[::1]", " 192.0.2.1", "192.0.2.1\n", "::ffff:999.0.2.1"]) {
      expect(allows("0.0.0.0/0,::/0", address)).toBe(false);
    }
  });

  test("a list is compiled once, for all keys of an API", () => {
    const entries = entriesOf("192.0.2.0/24");
    expect(compileIpAllowlist(entries)).toBe(compileIpAllowlist(entries));
  });

  /** An address as a number of its width: the oracle. */
  const numberOf = (address: string): bigint => {
    if (isIPv4(address)) return address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
    const [head = "", tail] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
    const groups = tail === undefined ? [...head] : [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail];
    return groups.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
  };
  const ipv4 = fc.ipV4();
  // Without those that end in dotted form, which the oracle does not read.
  const ipv6 = fc.ipV6().filter((address) => !address.includes(".") && !/ffff/i.test(address));

  test.each([
    ["IPv4", ipv4, 32],
    ["IPv6", ipv6, 128],
  ] as const)("%s networks hold exactly the addresses with the same leading bits", (_, address, width) => {
    fc.assert(
      fc.property(address, address, fc.nat(width), fc.nat(width), (network, other, prefix, flip) => {
        const shift = BigInt(width - prefix);
        const list = compileIpAllowlist([parseNetwork(`${network}/${prefix}`) ?? ""]);
        for (const candidate of [other, network]) {
          expect(list.allows(candidate)).toBe(numberOf(candidate) >> shift === numberOf(network) >> shift);
        }
        // A neighbour that differs in one bit, which is where masks go wrong.
        if (width === 32 && flip < 32) {
          const bits = numberOf(network) ^ (1n << BigInt(flip));
          const near = [24n, 16n, 8n, 0n].map((by) => String((bits >> by) & 255n)).join(".");
          expect(list.allows(near)).toBe(flip < width - prefix);
        }
      }),
      { numRuns: 500 },
    );
  });
});

test("[management §8] an entry has one canonical form: read again it is the same, and allows the same addresses", () => {
  const network = fc.oneof(
    fc.tuple(fc.ipV4(), fc.nat(32)).map(([address, prefix]) => `${address}/${prefix}`),
    fc.tuple(fc.ipV6(), fc.nat(128)).map(([address, prefix]) => `${address}/${prefix}`),
  );
  fc.assert(
    fc.property(network, (written) => {
      const entry = parseNetwork(written);
      if (entry === undefined) return;
      expect(parseNetwork(entry)).toBe(entry);
      expect(parseNetwork(written.toUpperCase())).toBe(entry);
      expect(compileIpAllowlist([entry]).allows(written.split("/")[0])).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test("[management §2] a list has 1,000 entries at most, also from the command line", () => {
  const list = (count: number): string => Array.from({ length: count }, (_, i) => `10.${i >> 8}.${i & 0xff}.1`).join(",");
  expect(entriesOf(list(1_000))).toHaveLength(1_000);
  expect(parseIpAllowlist(list(1_001))).toEqual({ tooMany: 1_001 });
});

test("[management §2] the entry that matches is the first that allows the address; there is one exactly when the list allows it", () => {
  const entries = ["192.0.2.7/32", "2001:db8::/32", "192.0.2.0/24", "::/0"];
  expect(matchingEntry(entries, "192.0.2.7")).toBe("192.0.2.7/32");
  expect(matchingEntry(entries, "::ffff:192.0.2.8")).toBe("192.0.2.0/24");
  expect(matchingEntry(entries, "fe80::1%eth0")).toBe("::/0");
  for (const address of ["203.0.113.1", "nonsense", undefined]) {
    expect(matchingEntry(entries, address)).toBeUndefined();
    expect(compileIpAllowlist(entries).allows(address)).toBe(false);
  }
  const many = Array.from({ length: 1_000 }, (_, i) => `10.${i >> 8}.${i & 0xff}.0/24`);
  for (const i of [0, 1, 499, 500, 998, 999]) {
    const entry = many[i] ?? expect.unreachable();
    expect(matchingEntry([...many, ...many], entry.replace(".0/24", ".7"))).toBe(entry);
    expect(matchingEntry(many.with(i, "10.0.0.0/8"), "10.99.0.1")).toBe("10.0.0.0/8");
  }
});
