import { create, equals, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codePoint } from "../../support/codePoint.ts";
import { compileCodec } from "../../support/compileCodec.ts";
import { fieldwiseValidMessage } from "./messageArbitrary.ts";
import { requests, responses } from "./services.ts";

const named = requests.map((desc) => [desc.name, desc] as const);
const codecs = new Map(requests.map((desc) => [desc, compileCodec(desc)]));

describe("round trips", () => {
  test.each(named)("%s: the JSON written from a message reads as that message", (_, desc) => {
    const codec = compileCodec(desc);
    fc.assert(
      fc.property(fieldwiseValidMessage(desc), (message) => {
        fc.pre(codec.validate(message).length === 0);
        const decoded = codec.decode(JSON.parse(codec.encode(message)));
        expect(decoded.violations).toEqual([]);
        expect(decoded.message).toEqual(message);
        expect(equals(desc, fromBinary(desc, toBinary(desc, decoded.message)), create(desc, message))).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});

describe("fuzzing", () => {
  const json = fc.oneof(fc.jsonValue({ maxDepth: 6 }), fc.jsonValue({ stringUnit: codePoint }));

  test("[protocol §3] no JSON makes a codec throw, and every violation is placed in the body", () => {
    fc.assert(
      fc.property(fc.constantFrom(...codecs.values()), json, (codec, value) => {
        for (const { location, message } of codec.decode(value).violations) {
          expect(location).toMatch(/^body/);
          expect(message).not.toBe("");
        }
      }),
      { numRuns: 3000 },
    );
  });

  test.each(named)("[protocol §3] %s: a valid body with one value exchanged neither throws nor passes unread", (_, desc) => {
    const codec = compileCodec(desc);
    fc.assert(
      fc.property(fieldwiseValidMessage(desc), json, fc.nat(), (message, value, at) => {
        fc.pre(codec.validate(message).length === 0);
        const body = JSON.parse(codec.encode(message)) as Record<string, unknown>;
        const names = Object.keys(body);
        const name = names[at % Math.max(1, names.length)] ?? "added";
        body[name] = value;
        const { message: decoded, violations } = codec.decode(body);
        if (violations.length === 0) expect(codec.validate(decoded)).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  test("every response type has a codec as well", () => {
    for (const desc of responses) expect(() => compileCodec(desc)).not.toThrow();
  });
});
