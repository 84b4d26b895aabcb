import { describe, expect, test } from "vitest";
import { createClientAddress, createIsProxy, networkOf } from "../../src/platform/http/clientAddress.ts";

const trusting = createClientAddress(["10.0.0.0/8", "2001:db8:aaaa::/48"]);
const of = (remoteIp: string | undefined, forwardedFor?: string): string | undefined => trusting({ remoteIp, forwardedFor });

describe("[protocol §11] the client's address", () => {
  test("without trusted proxies it is the socket's, whatever the header says", () => {
    const address = createClientAddress([]);
    expect(address({ remoteIp: "192.0.2.1", forwardedFor: "198.51.100.1" })).toBe("192.0.2.1");
    expect(address({ remoteIp: "::ffff:192.0.2.1", forwardedFor: undefined })).toBe("192.0.2.1");
    expect(address({ remoteIp: undefined, forwardedFor: "198.51.100.1" })).toBeUndefined();
  });

  test("the header of a socket that is no trusted proxy is not believed", () => {
    expect(of("192.0.2.1", "198.51.100.1")).toBe("192.0.2.1");
    expect(of("192.0.2.1", "10.0.0.1")).toBe("192.0.2.1");
    expect(of("2001:db8:bbbb::1", "198.51.100.1")).toBe("2001:db8:bbbb::1");
  });

  test.each([
    ["one proxy", "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["two proxies", "10.0.0.1", "198.51.100.1, 10.0.0.2", "198.51.100.1"],
    ["a proxy that speaks IPv6", "2001:db8:aaaa::1", "198.51.100.1", "198.51.100.1"],
    ["a proxy whose address is mapped", "::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["a proxy whose address is mapped and in hex", "::ffff:a00:1", "198.51.100.1,::ffff:a00:2", "198.51.100.1"],
    ["a client that speaks IPv6", "10.0.0.1", "2001:db8::1", "2001:db8::1"],
    ["a client whose address is mapped", "10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"],
    ["a link-local client", "10.0.0.1", "fe80::1%eth0", "fe80::1"],
    ["a spoofed entry", "10.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"],
    ["a spoofed proxy", "10.0.0.1", "203.0.113.9, 10.0.0.7, 198.51.100.1", "198.51.100.1"],
    ["spoofed rubbish", "10.0.0.1", "unknown, ', \u0000, 198.51.100.1", "198.51.100.1"],
    ["no blanks", "10.0.0.1", "203.0.113.9,198.51.100.1,10.0.0.2", "198.51.100.1"],
    ["empty entries", "10.0.0.1", ", 198.51.100.1,, ,", "198.51.100.1"],
    ["a port after an IPv4 address", "10.0.0.1", "203.0.113.9, 198.51.100.1:51234", "198.51.100.1"],
    ["brackets", "10.0.0.1", "[2001:db8::1]", "2001:db8::1"],
    ["brackets and a port", "10.0.0.1", "198.51.100.1, [2001:db8:aaaa::2]:443", "198.51.100.1"],
    ["only proxies: the first of them called", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["no header: the proxy itself called", "10.0.0.1", undefined, "10.0.0.1"],
    ["an empty header", "10.0.0.1", " , ", "10.0.0.1"],
  ])("is the right-most entry that no trusted proxy has: %s", (_, remoteIp, forwardedFor, address) => {
    expect(of(remoteIp, forwardedFor)).toBe(address);
  });

  test.each([
    ["unknown"],
    ["_hidden"],
    ["198.51.100.1, unknown"],
    ["198.51.100.1, 10.0.0.2, localhost"],
    ["198.51.100.256"],
    ["198.51.100"],
    ["198.51.100.1:"],
    ["198.51.100.256:80"],
    ["2001:db8::1]:443"],
    ["[198.51.100.1:80"],
    ["[]"],
    ["for=198.51.100.1"],
    ['"198.51.100.1"'],
    ["198.51.100.1 10.0.0.2"],
    ["x".repeat(100_000)],
  ])("is unknown when the right-most entry is no address: %.40s", (forwardedFor) => {
    expect(of("10.0.0.1", forwardedFor)).toBeUndefined();
  });

  test("networks of IPv6 trust no IPv4 address", () => {
    expect(createClientAddress(["::/0"])({ remoteIp: "192.0.2.1", forwardedFor: "198.51.100.1" })).toBe("192.0.2.1");
  });

  test("a header of many entries is read from the right, and only as far as it must be", () => {
    const spoofed = Array(10_000).fill("203.0.113.9").join(",");
    expect(of("10.0.0.1", `${spoofed},198.51.100.1`)).toBe("198.51.100.1");
    expect(of("10.0.0.1", `203.0.113.9,${Array(10_000).fill("10.0.0.2").join(",")}`)).toBe("203.0.113.9");
  });
});

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["2001:db8::1", "2001:db8:0:0"],
  ["2001:db8:0:0:1:2:3:4", "2001:db8:0:0"],
  ["2001:db8:0:1::4", "2001:db8:0:1"],
  ["::1", "0:0:0:0"],
  ["fe80::", "fe80:0:0:0"],
  [undefined, "hidden"],
])("%s is counted as %s", (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test("a proxy is one whose networks are trusted, however its address is written", () => {
  const isProxy = createIsProxy(["10.0.0.0/8"]);
  expect([isProxy("10.1.2.3"), isProxy("::ffff:10.1.2.3"), isProxy("192.0.2.1"), isProxy(undefined)]).toEqual([true, true, false, false]);
});
