import type { DescMethodUnary, DescService, Message } from "@bufbuild/protobuf";
import { AnalyticsService } from "../../gen/latchkey/v2/analytics_pb.ts";
import { ApisService } from "../../gen/latchkey/v2/apis_pb.ts";
import { AuditService } from "../../gen/latchkey/v2/audit_pb.ts";
import { IdentitiesService } from "../../gen/latchkey/v2/identities_pb.ts";
import { KeysService } from "../../gen/latchkey/v2/keys_pb.ts";
import { MigrationsService } from "../../gen/latchkey/v2/migrations_pb.ts";
import { NodesService } from "../../gen/latchkey/v2/nodes_pb.ts";
import { PermissionsService } from "../../gen/latchkey/v2/permissions_pb.ts";
import { RatelimitService } from "../../gen/latchkey/v2/ratelimit_pb.ts";
import { RootKeysService } from "../../gen/latchkey/v2/root_keys_pb.ts";
import { TestingService } from "../../gen/latchkey/v2/testing_pb.ts";
import type { FindEventsDeps } from "./audit/findEvents.ts";
import type { SettableClock } from "../platform/base/clock.ts";
import type { Violation } from "../platform/base/errors.ts";
import type { ApisRepository } from "./apis/apisRepository.ts";
import type { IdentitiesRepository } from "./identities/identitiesRepository.ts";
import type { KeysRepository } from "./keys/keysRepository.ts";
import type { PermissionsRepository } from "./permissions/permissionsRepository.ts";
import type { RolesRepository } from "./permissions/rolesRepository.ts";
import type { VerifyDeps } from "./verification/verify.ts";
import { getQuota } from "./analytics/procedures/getQuota.ts";
import { getRatelimits } from "./analytics/procedures/getRatelimits.ts";
import { getUsage } from "./analytics/procedures/getUsage.ts";
import { getVerifications } from "./analytics/procedures/getVerifications.ts";
import { tail } from "./analytics/procedures/tail.ts";
import { createApi } from "./apis/procedures/createApi.ts";
import { deleteApi } from "./apis/procedures/deleteApi.ts";
import { getApi } from "./apis/procedures/getApi.ts";
import { listApis } from "./apis/procedures/listApis.ts";
import { listKeys } from "./keys/procedures/listKeys.ts";
import { updateApi } from "./apis/procedures/updateApi.ts";
import { getLogs } from "./audit/procedures/getLogs.ts";
import { verifyChain } from "./audit/procedures/verifyChain.ts";
import { createIdentity } from "./identities/procedures/createIdentity.ts";
import { type DeleteIdentityDeps, deleteIdentity } from "./identities/procedures/deleteIdentity.ts";
import { getIdentity } from "./identities/procedures/getIdentity.ts";
import { listIdentities } from "./identities/procedures/listIdentities.ts";
import { updateIdentity } from "./identities/procedures/updateIdentity.ts";
import { changePermissions } from "./keys/procedures/changePermissions.ts";
import { changeRoles } from "./keys/procedures/changeRoles.ts";
import { createKey } from "./keys/procedures/createKey.ts";
import { deleteKey } from "./keys/procedures/deleteKey.ts";
import { type ExplainDeps, explain } from "./verification/procedures/explain.ts";
import { getKey } from "./keys/procedures/getKey.ts";
import { type MigrateKeysDeps, migrateKeys } from "./keys/procedures/migrateKeys.ts";
import { rerollKey } from "./keys/procedures/rerollKey.ts";
import { type SearchKeysDeps, searchKeys } from "./keys/procedures/searchKeys.ts";
import { updateCredits } from "./keys/procedures/updateCredits.ts";
import { type UpdateKeyDeps, updateKey } from "./keys/procedures/updateKey.ts";
import { verifyKey } from "./verification/procedures/verifyKey.ts";
import { whoami } from "./keys/procedures/whoami.ts";
import { createMigration } from "./migrations/procedures/createMigration.ts";
import { deleteMigration } from "./migrations/procedures/deleteMigration.ts";
import { listMigrations } from "./migrations/procedures/listMigrations.ts";
import { listNodes, type NodesDeps } from "./nodes/listNodes.ts";
import { createPermission } from "./permissions/procedures/createPermission.ts";
import { createRole } from "./permissions/procedures/createRole.ts";
import { deletePermission } from "./permissions/procedures/deletePermission.ts";
import { deleteRole } from "./permissions/procedures/deleteRole.ts";
import { getPermission } from "./permissions/procedures/getPermission.ts";
import { getRole } from "./permissions/procedures/getRole.ts";
import { listPermissions } from "./permissions/procedures/listPermissions.ts";
import { listRoles } from "./permissions/procedures/listRoles.ts";
import { setRolePermissions } from "./permissions/procedures/setRolePermissions.ts";
import { updatePermission } from "./permissions/procedures/updatePermission.ts";
import { updateRole } from "./permissions/procedures/updateRole.ts";
import { deleteNamespace } from "./ratelimit/procedures/deleteNamespace.ts";
import { deleteOverride } from "./ratelimit/procedures/deleteOverride.ts";
import { getOverride } from "./ratelimit/procedures/getOverride.ts";
import { type LimitDeps, limit } from "./ratelimit/procedures/limit.ts";
import { type ListCountersDeps, listCounters } from "./ratelimit/procedures/listCounters.ts";
import { listNamespaces } from "./ratelimit/procedures/listNamespaces.ts";
import { listOverrides } from "./ratelimit/procedures/listOverrides.ts";
import { multiLimit } from "./ratelimit/procedures/multiLimit.ts";
import { setOverride } from "./ratelimit/procedures/setOverride.ts";
import { createKey as createRootKey } from "./rootKeys/procedures/createKey.ts";
import { deleteKey as deleteRootKey } from "./rootKeys/procedures/deleteKey.ts";
import { listKeys as listRootKeys } from "./rootKeys/procedures/listKeys.ts";
import { rerollKey as rerollRootKey } from "./rootKeys/procedures/rerollKey.ts";
import { updateKey as updateRootKey } from "./rootKeys/procedures/updateKey.ts";
import { whoami as rootKeyWhoami } from "./rootKeys/procedures/whoami.ts";
import type { AnalyticsDeps } from "./analytics/procedures/readScope.ts";
import type { Call, Procedure } from "./calls/call.ts";
import type { KeyRingDeps } from "./keys/procedures/shared/issueKey.ts";
import type { OverrideDeps } from "./ratelimit/procedures/shared/findNamespace.ts";
import type { NamespaceDeps } from "./ratelimit/procedures/shared/findOrCreateNamespaces.ts";
import type { RootKeysDeps } from "./rootKeys/findRootKey.ts";
import { setTime } from "./testing/setTime.ts";

/** What many procedures use; each names what of it. */
interface Repositories {
  readonly apis: ApisRepository;
  readonly identities: IdentitiesRepository;
  readonly keys: KeysRepository;
  readonly permissions: PermissionsRepository;
  readonly roles: RolesRepository;
}

/** What all procedures together depend on; each takes its part. */
export type ProcedureDeps = { readonly testClock: SettableClock | undefined } & Repositories &
  KeyRingDeps &
  MigrateKeysDeps &
  UpdateKeyDeps &
  AnalyticsDeps &
  DeleteIdentityDeps &
  FindEventsDeps &
  LimitDeps &
  ListCountersDeps &
  VerifyDeps &
  ExplainDeps &
  SearchKeysDeps &
  NamespaceDeps &
  OverrideDeps &
  NodesDeps &
  RootKeysDeps;

/** A procedure as the pipeline calls it: the edges have made sure that the message is of the method's input type. */
export interface AnyProcedure {
  (request: Message, call: Call): Promise<object> | object;
  readonly judge?: (request: Message, now: number) => readonly Violation[];
}
export type ProcedureTable = ReadonlyMap<DescMethodUnary, AnyProcedure>;

type Unary<S extends DescService> = { [K in keyof S["method"]]: S["method"][K] extends DescMethodUnary ? K : never }[keyof S["method"]];
/** Implementations of a service, by the local names of its methods. */
type Implementations<S extends DescService> = {
  readonly [K in Unary<S>]: S["method"][K] extends DescMethodUnary<infer I, infer O> ? Procedure<I, O> : never;
};

/** Every procedure that exists, under the method that it implements. */
export const createProcedures = (deps: ProcedureDeps): ProcedureTable => {
  const table = new Map<DescMethodUnary, AnyProcedure>();
  const register = <S extends DescService>(service: S, implementations: Implementations<S>): void => {
    for (const [name, procedure] of Object.entries(implementations)) {
      table.set(service.method[name] as DescMethodUnary, procedure as AnyProcedure);
    }
  };
  register(AnalyticsService, {
    getQuota: getQuota(deps),
    getRatelimits: getRatelimits(deps),
    getUsage: getUsage(deps),
    getVerifications: getVerifications(deps),
    tail: tail(deps),
  });
  register(ApisService, {
    createApi: createApi(deps),
    getApi: getApi(deps),
    listApis: listApis(deps),
    updateApi: updateApi(deps),
    deleteApi: deleteApi(deps),
    listKeys: listKeys(deps),
  });
  register(AuditService, { getLogs: getLogs(deps), verifyChain: verifyChain(deps) });
  register(KeysService, {
    createKey: createKey(deps),
    updateKey: updateKey(deps),
    getKey: getKey(deps),
    deleteKey: deleteKey(deps),
    verifyKey: verifyKey(deps),
    explain: explain(deps),
    addPermissions: changePermissions(deps, "add"),
    addRoles: changeRoles(deps, "add"),
    removePermissions: changePermissions(deps, "remove"),
    removeRoles: changeRoles(deps, "remove"),
    rerollKey: rerollKey(deps),
    searchKeys: searchKeys(deps),
    setPermissions: changePermissions(deps, "set"),
    setRoles: changeRoles(deps, "set"),
    updateCredits: updateCredits(deps),
    whoami: whoami(deps),
    migrateKeys: migrateKeys(deps),
  });
  register(MigrationsService, {
    createMigration: createMigration(deps),
    listMigrations: listMigrations(deps),
    deleteMigration: deleteMigration(deps),
  });
  register(NodesService, { listNodes: listNodes(deps) });
  register(PermissionsService, {
    createPermission: createPermission(deps),
    createRole: createRole(deps),
    deletePermission: deletePermission(deps),
    deleteRole: deleteRole(deps),
    getPermission: getPermission(deps),
    getRole: getRole(deps),
    listPermissions: listPermissions(deps),
    listRoles: listRoles(deps),
    setRolePermissions: setRolePermissions(deps),
    updatePermission: updatePermission(deps),
    updateRole: updateRole(deps),
  });
  register(IdentitiesService, {
    createIdentity: createIdentity(deps),
    deleteIdentity: deleteIdentity(deps),
    getIdentity: getIdentity(deps),
    listIdentities: listIdentities(deps),
    updateIdentity: updateIdentity(deps),
  });
  register(RootKeysService, {
    createKey: createRootKey(deps),
    deleteKey: deleteRootKey(deps),
    listKeys: listRootKeys(deps),
    rerollKey: rerollRootKey(deps),
    updateKey: updateRootKey(deps),
    whoami: rootKeyWhoami(deps),
  });
  if (deps.testClock) register(TestingService, { setTime: setTime({ clock: deps.testClock }) });
  register(RatelimitService, {
    deleteNamespace: deleteNamespace(deps),
    deleteOverride: deleteOverride(deps),
    getOverride: getOverride(deps),
    limit: limit(deps),
    listCounters: listCounters(deps),
    listNamespaces: listNamespaces(deps),
    listOverrides: listOverrides(deps),
    multiLimit: multiLimit(deps),
    setOverride: setOverride(deps),
  });
  return table;
};
