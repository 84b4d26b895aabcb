import type { DescMethodUnary } from "@bufbuild/protobuf";
import { ConsoleService } from "../../../../gen/latchkey/console/v1/console_pb.ts";
import type { AnyProcedure, ProcedureTable } from "../../calls/procedureTable.ts";
import type { ConsoleDeps } from "./consoleDeps.ts";
import { elevate } from "./elevate.ts";
import { endSession } from "./endSession.ts";
import { getSession } from "./getSession.ts";
import { listSessions } from "./listSessions.ts";
import { signIn } from "./signIn.ts";
import { signOut } from "./signOut.ts";

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
