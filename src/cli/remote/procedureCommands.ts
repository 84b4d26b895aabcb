import { type DescribedProcedure, describeProcedures } from "../../platform/rpc/description/describeProcedures.ts";
import { testableServices } from "../../service/services.ts";
import { kebab } from "./flags.ts";

/** A procedure as a command: `latchkey keys create-key`, or by its own name `latchkey keys.createKey`. */
export interface ProcedureCommand {
  /** `keys` */
  readonly namespace: string;
  /** `create-key` */
  readonly verb: string;
  /** It deletes something, and asks before. */
  readonly destroys: boolean;
  readonly procedure: DescribedProcedure;
}

/** Every procedure there is. Read from the descriptors, which takes a moment: only commands that need it import this file. */
export const procedureCommands: readonly ProcedureCommand[] = describeProcedures(testableServices).map((procedure) => {
  const [namespace = "", verb = ""] = procedure.name.split(".").map(kebab);
  return { namespace, verb, destroys: verb.startsWith("delete"), procedure };
});

export const namespaces: readonly string[] = [...new Set(procedureCommands.map(({ namespace }) => namespace))];

/** The procedure that arguments begin with, and what stands behind its name. */
export const findProcedure = (
  args: readonly string[],
): { readonly found: ProcedureCommand; readonly rest: readonly string[] } | undefined => {
  const [first = "", second = ""] = args;
  const byName = procedureCommands.find(({ procedure }) => procedure.name === first);
  if (byName !== undefined) return { found: byName, rest: args.slice(1) };
  const found = procedureCommands.find(({ namespace, verb }) => namespace === first && verb === second);
  return found && { found, rest: args.slice(2) };
};
