import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { createValidator, type Violation as OracleViolation } from "@bufbuild/protovalidate";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Wrapper, wrapper } from "../../../gen/latchkey/v2/options_pb.ts";
import { MultiLimitRequestSchema } from "../../../gen/latchkey/v2/ratelimit_pb.ts";
import { crossRules } from "../../../src/platform/codec/rules/crossRules.ts";
import { compileCodec } from "../../support/compileCodec.ts";
import { anyMessage } from "./messageArbitrary.ts";
import { requests } from "./services.ts";

/** Fields that /v2 JSON does not show: those of wrappers, and the list that multiLimit's body is. */
const isHidden = (field: DescField): boolean =>
  getOption(field.parent, wrapper) !== Wrapper.UNSPECIFIED || field.parent === MultiLimitRequestSchema;

/**
 * Where /v2 places what protovalidate found: JSON names, without the fields of wrappers. A rule over several fields is
 * found at its message; which of the fields is at fault is the codec's own knowledge.
 */
const locationsIn = (root: Message, { field, ruleId }: OracleViolation): string[] => {
  let location = "body";
  let value: unknown = root;
  for (const element of field) {
    if (element.kind === "list_sub") {
      location += `[${element.index}]`;
      value = (value as readonly unknown[])[element.index];
    } else if (element.kind === "field") {
      if (!isHidden(element)) location += `.${element.jsonName}`;
      const parent = value as Record<string, unknown>;
      value = element.oneof === undefined ? parent[element.localName] : (parent.kind as { value: unknown }).value;
    }
  }
  const rule = crossRules.get(ruleId);
  if (rule === undefined) return [location];
  const found = rule(value as Message);
  // Repeated empty names: the codec leaves them to the rule that a name is required.
  if (found.length === 0 && !ruleId.endsWith("unique_ratelimit_names")) return [`${location} (only protovalidate: ${ruleId})`];
  return found.map(({ at }) => location + at);
};

const oracle = createValidator();

const expected = (desc: DescMessage, message: Message): string[] => {
  const result = oracle.validate(desc, message);
  if (result.kind === "error") throw result.error;
  const violations = result.violations ?? [];
  const locationsOf = (some: readonly OracleViolation[]): string[] => some.flatMap((violation) => locationsIn(message, violation));
  const isCross = ({ ruleId }: OracleViolation): boolean => crossRules.has(ruleId);
  const single = locationsOf(violations.filter((violation) => !isCross(violation)));
  // A violation inside a field replaces the violation between that field and others.
  const cross = locationsOf(violations.filter(isCross)).filter((at) => !single.some((location) => location.startsWith(`${at}[`)));
  return [...new Set([...single, ...cross])].sort();
};

describe("protovalidate as the oracle", () => {
  test.each(requests.map((desc) => [desc.name, desc] as const))("%s: the same places are wrong", (_, desc) => {
    const codec = compileCodec(desc);
    fc.assert(
      fc.property(anyMessage(desc), (message) => {
        const found = [...new Set(codec.validate(message).map(({ location }) => location))].sort();
        expect(found).toEqual(expected(desc, message));
      }),
      { numRuns: 150 },
    );
  });
});
