import type { Message } from "@bufbuild/protobuf";
import type { CrossRule } from "./crossRules.ts";
import { type Finding, report } from "./findings.ts";

/** Whether a finding is about `at` or something inside it. */
const isWithin = ({ location }: Finding, at: string): boolean =>
  location.startsWith(at) && (location.length === at.length || location[at.length] === "." || location[at.length] === "[");

/**
 * Runs the rules over several fields of a message. `first` is the number of findings before this message was looked
 * at; what is already known to be wrong at a place is not reported a second time.
 */
export const applyCrossRules = (rules: readonly CrossRule[]): ((message: unknown, findings: Finding[], first: number) => void) => {
  return (message, findings, first) => {
    for (const rule of rules) {
      for (const { at, message: said } of rule(message as Message)) {
        if (!findings.slice(first).some((finding) => isWithin(finding, at))) report(findings, said, undefined, at);
      }
    }
  };
};
