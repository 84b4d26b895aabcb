import { describe, expect, test } from "vitest";
import { isAnyAllowed, parseSubjectName, type SubjectName, subjectNamesOf } from "../../src/platform/base/subjectNames.ts";

const allow = (...texts: readonly string[]): readonly SubjectName[] =>
  texts.map((text) => parseSubjectName(text) ?? expect.unreachable(`${text} is no name`));

test.each([
  "DNS:billing.example.com",
  "DNS:*.example.com",
  "DNS:localhost",
  "URI:spiffe://example.com/ns/a/sa/billing",
  "URI:urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
  "email:ops@example.com",
])("%s is a name that a setting can hold", (text) => {
  expect(parseSubjectName(text)).toBeDefined();
});

test.each([
  ...["", "billing.example.com", "DNS:", "dns:example.com", "IP:10.0.0.1", "CN:billing"],
  ...[
    "DNS:*",
    "DNS:*.*.example.com",
    "DNS:a.*.example.com",
    "DNS:b*.example.com",
    "DNS:exa mple.com",
    "DNS:example.com.",
    "DNS:.example.com",
  ],
  ...["URI:spiffe://example.com/*", "URI:billing", "URI:spiffe://a b", "email:example.com", "email:*@example.com", "email:@example.com"],
])("%j is none", (text) => {
  expect(parseSubjectName(text)).toBeUndefined();
});

describe("a certificate passes by one of its names", () => {
  test.each([
    ["DNS:billing.example.com", "DNS:other.example.com, DNS:billing.example.com", true],
    ["DNS:Billing.example.com", "DNS:billing.EXAMPLE.com", true],
    ["DNS:*.example.com", "DNS:billing.example.com", true],
    ["DNS:*.example.com", "DNS:example.com", false],
    ["DNS:*.example.com", "DNS:a.billing.example.com", false],
    ["DNS:*.example.com", "DNS:.example.com", false],
    ["DNS:*.example.com", "DNS:billing.example.com.evil.test", false],
    ["DNS:*.example.com", "DNS:billing.notexample.com", false],
    // A wildcard of the certificate is for servers, and no name of a client.
    ["DNS:billing.example.com", "DNS:*.example.com", false],
    ["DNS:*.example.com", "DNS:*.example.com", false],
    ["URI:spiffe://example.com/billing", "URI:spiffe://example.com/billing", true],
    ["URI:spiffe://example.com/billing", "URI:spiffe://example.com/Billing", false],
    ["URI:spiffe://example.com/billing", "URI:spiffe://example.com/billing/more", false],
    ["email:Ops@example.com", "email:Ops@EXAMPLE.com", true],
    ["email:Ops@example.com", "email:ops@example.com", false],
    // Each kind by itself, and nothing by what only looks like another name.
    ["DNS:billing.example.com", "URI:billing.example.com", false],
    ["DNS:billing.example.com", 'DNS:"evil.test, DNS:billing.example.com"', false],
    ["DNS:billing.example.com", 'URI:"http://a.test/, DNS:billing.example.com"', false],
    ["DNS:billing.example.com", 'DNS:"billing.example.com\\u0000.evil.test"', false],
    ["DNS:billing.example.com", "IP Address:10.0.0.1, DNS:billing.example.com", true],
    ["DNS:billing.example.com", 'DirName:"C = a, CN = \\"b\\"", DNS:billing.example.com', true],
    ["DNS:billing.example.com", 'DNS:"broken, DNS:billing.example.com', false],
  ])("%s and %s: %s", (allowed, subjectAltName, passes) => {
    expect(isAnyAllowed(allow(allowed), subjectNamesOf(subjectAltName))).toBe(passes);
  });

  test("one without names has none that is allowed", () => {
    expect(isAnyAllowed(allow("DNS:billing.example.com"), subjectNamesOf(undefined))).toBe(false);
  });
});
