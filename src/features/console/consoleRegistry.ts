import type { DescMethodUnary } from "@bufbuild/protobuf";
import { ConsoleService } from "../../../gen/latchkey/console/v1/console_pb.ts";
import { elevate } from "./procedures/elevate.ts";
import { endSession } from "./procedures/endSession.ts";
import { getSession } from "./procedures/getSession.ts";
import { listSessions } from "./procedures/listSessions.ts";
import { signIn } from "./procedures/signIn.ts";
import { signOut } from "./procedures/signOut.ts";
import type { AnyProcedure, ProcedureTable } from "../registry.ts";
import type { ConsoleDeps } from "./procedures/consoleDeps.ts";

/** The procedures of the console's own service, which only its edge serves (console §1). */
export const createConsoleProcedures = (deps: ConsoleDeps): ProcedureTable => {
  const { method } = ConsoleService;
  return new Map<DescMethodUnary, AnyProcedure>([
    [method.signIn, signIn(deps) as AnyProcedure],
    [method.signOut, signOut(deps) as AnyProcedure],
    [method.elevate, elevate(deps) as AnyProcedure],
    [method.getSession, getSession(deps) as AnyProcedure],
    [method.listSessions, listSessions(deps) as AnyProcedure],
    [method.endSession, endSession(deps) as AnyProcedure],
  ]);
};
