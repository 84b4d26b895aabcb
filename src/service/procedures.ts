import type { DescMethodUnary, DescService } from "@bufbuild/protobuf";
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
import { getQuota } from "../features/analytics/procedures/getQuota.ts";
import { getRatelimits } from "../features/analytics/procedures/getRatelimits.ts";
import { getUsage } from "../features/analytics/procedures/getUsage.ts";
import { getVerifications } from "../features/analytics/procedures/getVerifications.ts";
import type { AnalyticsDeps } from "../features/analytics/procedures/readScope.ts";
import { tail } from "../features/analytics/procedures/tail.ts";
import type { ApisRepository } from "../features/apis/apisRepository.ts";
import { createApi } from "../features/apis/procedures/createApi.ts";
import { deleteApi } from "../features/apis/procedures/deleteApi.ts";
import { getApi } from "../features/apis/procedures/getApi.ts";
import { listApis } from "../features/apis/procedures/listApis.ts";
import { updateApi } from "../features/apis/procedures/updateApi.ts";
import type { FindEventsDeps } from "../features/audit/findEvents.ts";
import { getLogs } from "../features/audit/procedures/getLogs.ts";
import { verifyChain } from "../features/audit/procedures/verifyChain.ts";
import type { Procedure } from "../features/calls/call.ts";
import type { AnyProcedure, ProcedureTable } from "../features/calls/procedureTable.ts";
import type { IdentitiesRepository } from "../features/identities/identitiesRepository.ts";
import { createIdentity } from "../features/identities/procedures/createIdentity.ts";
import { type DeleteIdentityDeps, deleteIdentity } from "../features/identities/procedures/deleteIdentity.ts";
import { getIdentity } from "../features/identities/procedures/getIdentity.ts";
import { listIdentities } from "../features/identities/procedures/listIdentities.ts";
import { updateIdentity } from "../features/identities/procedures/updateIdentity.ts";
import type { KeysRepository } from "../features/keys/keysRepository.ts";
import { changePermissions } from "../features/keys/procedures/changePermissions.ts";
import { changeRoles } from "../features/keys/procedures/changeRoles.ts";
import { createKey } from "../features/keys/procedures/createKey.ts";
import { deleteKey } from "../features/keys/procedures/deleteKey.ts";
import { getKey } from "../features/keys/procedures/getKey.ts";
import { listKeys } from "../features/keys/procedures/listKeys.ts";
import { type MigrateKeysDeps, migrateKeys } from "../features/keys/procedures/migrateKeys.ts";
import { rerollKey } from "../features/keys/procedures/rerollKey.ts";
import { type SearchKeysDeps, searchKeys } from "../features/keys/procedures/searchKeys.ts";
import type { KeyRingDeps } from "../features/keys/procedures/shared/issueKey.ts";
import { updateCredits } from "../features/keys/procedures/updateCredits.ts";
import { type UpdateKeyDeps, updateKey } from "../features/keys/procedures/updateKey.ts";
import { whoami } from "../features/keys/procedures/whoami.ts";
import { createMigration } from "../features/migrations/procedures/createMigration.ts";
import { deleteMigration } from "../features/migrations/procedures/deleteMigration.ts";
import { listMigrations } from "../features/migrations/procedures/listMigrations.ts";
import { listNodes, type NodesDeps } from "../features/nodes/listNodes.ts";
import type { PermissionsRepository } from "../features/permissions/permissionsRepository.ts";
import { createPermission } from "../features/permissions/procedures/createPermission.ts";
import { createRole } from "../features/permissions/procedures/createRole.ts";
import { deletePermission } from "../features/permissions/procedures/deletePermission.ts";
import { deleteRole } from "../features/permissions/procedures/deleteRole.ts";
import { getPermission } from "../features/permissions/procedures/getPermission.ts";
import { getRole } from "../features/permissions/procedures/getRole.ts";
import { listPermissions } from "../features/permissions/procedures/listPermissions.ts";
import { listRoles } from "../features/permissions/procedures/listRoles.ts";
import { setRolePermissions } from "../features/permissions/procedures/setRolePermissions.ts";
import { updatePermission } from "../features/permissions/procedures/updatePermission.ts";
import { updateRole } from "../features/permissions/procedures/updateRole.ts";
import type { RolesRepository } from "../features/permissions/rolesRepository.ts";
import { deleteNamespace } from "../features/ratelimit/procedures/deleteNamespace.ts";
import { deleteOverride } from "../features/ratelimit/procedures/deleteOverride.ts";
import { getOverride } from "../features/ratelimit/procedures/getOverride.ts";
import { type LimitDeps, limit } from "../features/ratelimit/procedures/limit.ts";
import { type ListCountersDeps, listCounters } from "../features/ratelimit/procedures/listCounters.ts";
import { listNamespaces } from "../features/ratelimit/procedures/listNamespaces.ts";
import { listOverrides } from "../features/ratelimit/procedures/listOverrides.ts";
import { multiLimit } from "../features/ratelimit/procedures/multiLimit.ts";
import { setOverride } from "../features/ratelimit/procedures/setOverride.ts";
import type { OverrideDeps } from "../features/ratelimit/procedures/shared/findNamespace.ts";
import type { NamespaceDeps } from "../features/ratelimit/procedures/shared/findOrCreateNamespaces.ts";
import type { RootKeysDeps } from "../features/rootKeys/findRootKey.ts";
import { createKey as createRootKey } from "../features/rootKeys/procedures/createKey.ts";
import { deleteKey as deleteRootKey } from "../features/rootKeys/procedures/deleteKey.ts";
import { listKeys as listRootKeys } from "../features/rootKeys/procedures/listKeys.ts";
import { rerollKey as rerollRootKey } from "../features/rootKeys/procedures/rerollKey.ts";
import { updateKey as updateRootKey } from "../features/rootKeys/procedures/updateKey.ts";
import { whoami as rootKeyWhoami } from "../features/rootKeys/procedures/whoami.ts";
import { setTime } from "../features/testing/setTime.ts";
import { type ExplainDeps, explain } from "../features/verification/procedures/explain.ts";
import { verifyKey } from "../features/verification/procedures/verifyKey.ts";
import type { VerifyDeps } from "../features/verification/verify.ts";
import type { SettableClock } from "../platform/base/clock.ts";

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
