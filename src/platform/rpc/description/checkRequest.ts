import type { DescMessage } from "@bufbuild/protobuf";
import type { Violation } from "../../base/errors.ts";
import { messageShape } from "../../codec/compileShape.ts";
import { decoder } from "../../codec/decoder.ts";
import { type Finding, prefixFindings } from "../../codec/rules/findings.ts";

/** Everything that /v2 would refuse in a body that is an object, at its place: `body.keyId`. */
export const checkRequest = (input: DescMessage, body: unknown): readonly Violation[] => {
  const findings: Finding[] = [];
  decoder(messageShape(input), "v2")(body, findings);
  prefixFindings(findings, 0, "body");
  return findings;
};
