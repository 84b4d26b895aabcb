import { ConsoleService } from "../../gen/latchkey/console/v1/console_pb.ts";
import { createSessions } from "../console/createSessions.ts";
import { createSignInGuard } from "../console/signInGuard.ts";
import type { Visit } from "../console/visit.ts";
import { type Caller, compileGrants } from "../domain/authorization.ts";
import type { Clock } from "../domain/clock.ts";
import type { SessionBounds } from "../domain/console/sessionTimes.ts";
import { ServiceError } from "../domain/errors.ts";
import { createConsoleProcedures } from "../procedures/consoleRegistry.ts";
import { visitOf } from "../procedures/shared/console/consoleDeps.ts";
import type { Capacity } from "../rpc/pipeline/capacity.ts";
import { createPipeline, type PipelineOptions } from "../rpc/pipeline/createPipeline.ts";
import type { IncomingCall, Pipeline } from "../rpc/pipeline/incomingCall.ts";
import type { Store } from "../storage/port/store.ts";
import { createFailedSignInsRepository } from "../storage/repositories/console/failedSignInsRepository.ts";
import { createSessionsRepository } from "../storage/repositories/console/sessionsRepository.ts";
import type { RootKeysRepository } from "../storage/repositories/rootKeysRepository.ts";

export interface AssembleConsoleOptions {
  readonly bounds: SessionBounds;
  /** Of the calls of the other edges. */
  readonly steps: PipelineOptions;
  readonly store: Store;
  readonly rootKeys: RootKeysRepository;
  /** One that nobody turns. */
  readonly leaseClock: Clock;
  readonly capacity: Pick<Capacity, "rootKeyReads">;
  readonly onUse: (rootKeyId: string, now: number) => void;
}

const nothing = compileGrants([]);

/** Somebody without a session; each address has its own share of everything. */
const strangerFrom = ({ network }: Visit): Caller => ({
  rootKeyId: `address ${network}`,
  name: undefined,
  expires: undefined,
  grants: nothing,
  isStranger: true,
});

/** The pipeline of the console: the same steps and procedures, for callers with a session, and the sessions' own procedures. */
export const assembleConsole = (options: AssembleConsoleOptions): Pipeline => {
  const { steps, store, rootKeys, leaseClock, capacity } = options;
  const sessions = createSessions({ ...options, sessions: createSessionsRepository(store) });
  const procedures = createConsoleProcedures({
    sessions,
    guard: createSignInGuard(createFailedSignInsRepository(store), leaseClock),
    findRootKey: async (hash, call) => {
      const room = capacity.rootKeyReads.take([visitOf(call).network], 1);
      if (room === undefined) throw new ServiceError("service_unavailable", "Too many root keys are being looked up. Try again shortly.");
      return rootKeys.findByHash(hash, call).finally(room.give);
    },
  });
  const { signIn, signOut } = ConsoleService.method;
  const authenticate = (_authorization: string | undefined, now: number, call: IncomingCall): Caller | Promise<Caller> => {
    const visit = visitOf(call);
    return call.method === signIn || call.method === signOut ? strangerFrom(visit) : sessions.callerOf(visit, now, call);
  };
  return createPipeline({ ...steps, authenticator: { authenticate }, procedures: new Map([...steps.procedures, ...procedures]) });
};
