import { createSessions, type Sessions } from "../console/createSessions.ts";
import { createFindHolder } from "../console/holders.ts";
import { createOidcSignIn, type OidcSignIn } from "../console/oidc/createOidcSignIn.ts";
import { createIdentityProvider, type ProviderFailure } from "../console/oidc/identityProvider.ts";
import type { OidcSettings } from "../console/oidc/oidcSettings.ts";
import { createRoundSealer } from "../console/oidc/roundSealer.ts";
import { createSignInGuard } from "../console/signInGuard.ts";
import type { Clock } from "../domain/clock.ts";
import type { SessionBounds } from "../domain/console/sessionTimes.ts";
import { ServiceError } from "../domain/errors.ts";
import { createConsoleProcedures } from "../procedures/consoleRegistry.ts";
import type { ProcedureTable } from "../procedures/registry.ts";
import { visitOf } from "../procedures/shared/console/consoleDeps.ts";
import type { Capacity } from "../rpc/pipeline/capacity.ts";
import type { Store } from "../storage/port/store.ts";
import { createFailedSignInsRepository } from "../storage/repositories/console/failedSignInsRepository.ts";
import { createSessionsRepository } from "../storage/repositories/console/sessionsRepository.ts";
import type { RootKeysRepository } from "../storage/repositories/rootKeysRepository.ts";

export interface AssembleConsoleOptions {
  readonly bounds: SessionBounds;
  /** Undefined where people sign in with root keys only. */
  readonly oidc: OidcSettings | undefined;
  readonly store: Store;
  readonly rootKeys: RootKeysRepository;
  /** One that nobody turns. */
  readonly leaseClock: Clock;
  readonly capacity: Pick<Capacity, "rootKeyReads">;
  readonly onUse: (rootKeyId: string, now: number) => void;
  readonly onProviderFailure: (failure: ProviderFailure) => void;
}

/** What the console adds: who calls by a session, and the procedures that sessions have of their own. */
export interface ConsoleParts {
  readonly sessions: Sessions;
  readonly procedures: ProcedureTable;
  readonly oidc: OidcSignIn | undefined;
}

/** Wires the console's sessions. */
export const assembleConsole = (options: AssembleConsoleOptions): ConsoleParts => {
  const { store, rootKeys, leaseClock, capacity, oidc: settings, onProviderFailure: onFailure } = options;
  const findHolder = createFindHolder(rootKeys, settings);
  const sessions = createSessions({ ...options, findHolder, sessions: createSessionsRepository(store) });
  const guard = createSignInGuard(createFailedSignInsRepository(store), leaseClock);
  const procedures = createConsoleProcedures({
    sessions,
    guard,
    findRootKey: async (hash, call) => {
      const room = capacity.rootKeyReads.take([visitOf(call).network], 1);
      if (room === undefined) throw new ServiceError("service_unavailable", "Too many root keys are being looked up. Try again shortly.");
      return rootKeys.findByHash(hash, call).finally(room.give);
    },
  });
  if (settings === undefined) return { sessions, procedures, oidc: undefined };
  const [provider, sealer] = [createIdentityProvider(settings, leaseClock), createRoundSealer(settings)];
  return { sessions, procedures, oidc: createOidcSignIn({ settings, provider, sealer, sessions, guard, onFailure }) };
};
