import type { ProcedureTable } from "../features/calls/procedureTable.ts";
import { createSessions, type Sessions } from "../features/console/createSessions.ts";
import { createFailedSignInsRepository } from "../features/console/failedSignInsRepository.ts";
import { createFindHolder } from "../features/console/holders.ts";
import { createOidcSignIn, type OidcSignIn } from "../features/console/oidc/createOidcSignIn.ts";
import { createIdentityProvider, type ProviderFailure } from "../features/console/oidc/identityProvider.ts";
import type { OidcSettings } from "../features/console/oidc/oidcSettings.ts";
import { createRoundSealer } from "../features/console/oidc/roundSealer.ts";
import { visitOf } from "../features/console/procedures/consoleDeps.ts";
import { createConsoleProcedures } from "../features/console/procedures/consoleProcedures.ts";
import { createSessionsRepository } from "../features/console/sessionsRepository.ts";
import type { SessionBounds } from "../features/console/sessionTimes.ts";
import { createSignInGuard } from "../features/console/signInGuard.ts";
import type { RootKeysRepository } from "../features/rootKeys/rootKeysRepository.ts";
import type { Clock } from "../platform/base/clock.ts";
import { ServiceError } from "../platform/base/errors.ts";
import type { Capacity } from "../platform/http/capacity.ts";
import type { Store } from "../platform/storage/port/store.ts";

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
