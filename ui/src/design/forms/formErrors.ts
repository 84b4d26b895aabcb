import { createContext } from "preact";
import type { Violation } from "../../../../gen/latchkey/v2/errors_pb.ts";

/** Violations of the last attempt to save the form around a field. */
export const FormViolations = createContext<readonly Violation[]>([]);

/** The violations of a field: its own, and those of what it holds (`ipAllowlist` has `body.ipAllowlist[2]`). @param name `credits.remaining` */
export const violationsAt = (violations: readonly Violation[], name: string): readonly Violation[] =>
  violations.filter(({ location }) => {
    const path = location.replace(/^body\.?/, "");
    return path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`);
  });

/** A violation as one sentence, with its place inside the field and how to repair it. */
export const violationText = ({ location, message, fix }: Violation, name: string): string => {
  const inside = location.replace(/^body\.?/, "").slice(name.length);
  return [inside === "" ? "" : `${inside}: `, message, fix === "" ? "" : ` ${fix}`].join("");
};

/** Those that no field of the form takes. @param names of its fields */
export const violationsElsewhere = (violations: readonly Violation[], names: readonly string[]): readonly Violation[] =>
  violations.filter((violation) => !names.some((name) => violationsAt([violation], name).length > 0));
