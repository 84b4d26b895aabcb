import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  coveringSlugs,
  grantPermissions,
  lackingGrants,
  type PermissionQuery,
  parsePermissionQuery,
  satisfies,
  termsOf,
} from "../../src/features/permissions/permissionQuery.ts";
import { ServiceError } from "../../src/platform/base/errors.ts";

const holds = (granted: readonly string[], query: string): boolean => satisfies(grantPermissions(granted), parsePermissionQuery(query));

describe("syntax", () => {
  test.each([
    ["a"],
    ["(a)AND(b)"],
    ["a and b Or c"],
    ["ANDROID.x AND a.and AND or-1"],
    ["a\tAND\r\nb"],
    ["((((a))))"],
    ["a/b OR *"],
    ["documents.*"],
  ])("[verify §4] %j is a query", (query) => {
    expect(() => parsePermissionQuery(query)).not.toThrow();
  });

  test.each([
    [" ", 1],
    ["a AND", 5],
    ["AND a", 0],
    ["a AND OR b", 6],
    ["a b", 2],
    ["a (b)", 2],
    ["NOT a", 4],
    ["()", 1],
    ["(a", 2],
    ["a)", 1],
    ["a @ b", 2],
    ["a\u0000 AND b", 1],
    ["ä", 0],
    ['a AND "b"', 6],
    ["a | b", 2],
    ["a\u00a0AND b", 1],
  ])("[verify §4] %j is a syntax error at position %i", (query, position) => {
    try {
      parsePermissionQuery(query);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ServiceError);
      const { reason, message, violations } = error as ServiceError;
      expect(reason).toBe("permissions_query_syntax_error");
      expect(message).toContain(`position ${position}`);
      expect(violations.map(({ location }) => location)).toEqual(["body.permissions"]);
    }
  });

  test("[verify §4] a thousand opening parentheses are a syntax error, not a stack overflow", () => {
    expect(() => parsePermissionQuery("(".repeat(1000))).toThrow(ServiceError);
    expect(() => parsePermissionQuery(`${"(".repeat(499)}a${")".repeat(499)}`)).not.toThrow();
  });
});

describe("evaluation", () => {
  test("[verify §4] AND binds tighter than OR", () => {
    expect(holds(["a"], "a OR b AND c")).toBe(true);
    expect(holds(["a"], "(a OR b) AND c")).toBe(false);
    expect(holds(["b", "c"], "a OR b AND c")).toBe(true);
  });

  test("[verify §4] slugs compare exactly", () => {
    expect(holds(["Documents.read"], "documents.read")).toBe(false);
  });

  test.each([
    ["documents.*", "documents.read", true],
    ["documents.*", "documents.a.b", true],
    ["documents.*", "documents.*", true],
    ["documents.*", "documents.a.*", true],
    ["documents.*", "documents", false],
    ["documents.*", "documents.", false],
    ["documents.*", "documentsx.read", false],
    ["documents.*", "documents:read", false],
    ["documents:*", "documents:read", true],
    ["*", "anything.at-all", true],
    ["a.*.read", "a.b.read", false],
    ["a.*.read", "a.*.read", true],
    ["doc*", "document", false],
    ["documents.read", "documents.*", false],
    ["doc.*", "docs.read", false],
  ])("[verify §4] holding %s, the term %s is %s", (granted, term, expected) => {
    expect(holds([granted], term)).toBe(expected);
  });

  test("[verify §4] any query equals a brute-force evaluation of its terms", () => {
    const slug = fc.constantFrom("a", "b.c", "b.d", "x:y", "b.*", "*.q", "x:*", "and.or");
    const query: fc.Arbitrary<PermissionQuery> = fc.letrec<{ node: PermissionQuery }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 5 },
        slug,
        fc.record({
          operator: fc.constantFrom("and" as const, "or" as const),
          operands: fc.array(tie("node"), { minLength: 2, maxLength: 3 }),
        }),
      ),
    })).node;
    const print = (node: PermissionQuery): string =>
      typeof node === "string" ? node : `(${node.operands.map(print).join(node.operator === "and" ? " AnD " : " oR ")})`;
    const covers = (granted: string, term: string): boolean =>
      granted === term || (/[.:]\*$/.test(granted) && term.startsWith(granted.slice(0, -1)) && term.length >= granted.length);
    const brute = (node: PermissionQuery, granted: readonly string[]): boolean => {
      if (typeof node === "string") return granted.some((each) => covers(each, node));
      const results = node.operands.map((operand) => brute(operand, granted));
      return node.operator === "and" ? !results.includes(false) : results.includes(true);
    };
    fc.assert(
      fc.property(query, fc.array(slug), (node, granted) => {
        expect(holds(granted, print(node))).toBe(brute(node, granted));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the explanation of a query", () => {
  const slug = fc.string({ unit: fc.constantFrom("a", "b", ".", ":", "*"), minLength: 1, maxLength: 6 });

  test("[management §2] a term is covered exactly by the slugs that are named", () => {
    fc.assert(
      fc.property(fc.array(slug, { maxLength: 4 }), slug, (granted, term) => {
        const named = coveringSlugs(term);
        expect(new Set(named).size).toBe(named.length);
        for (const each of granted) expect(grantPermissions([each]).has(term)).toBe(named.includes(each));
      }),
      { numRuns: 1_000 },
    );
  });

  test("[management §2] the terms of a query are there once, in their order", () => {
    expect(termsOf(parsePermissionQuery("b AND (a OR b) AND c OR a"))).toEqual(["b", "a", "c"]);
  });

  test.each([
    ["a", [], ["a"]],
    ["a AND b", ["a"], ["b"]],
    ["a AND b OR c", [], ["c"]],
    ["a AND b OR c", ["a", "b"], []],
    ["(a AND b) OR (c AND d AND e)", ["c", "d"], ["e"]],
    ["x AND a", [], undefined],
    ["x OR (a AND b)", [], ["a", "b"]],
    ["x AND a", ["x"], ["a"]],
  ])("[management §2] %s with %j lacks %j, where x cannot be granted", (query, granted, lacking) => {
    expect(lackingGrants(grantPermissions(granted), parsePermissionQuery(query), (slug) => slug !== "x")).toEqual(lacking);
  });
});
