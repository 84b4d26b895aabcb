import { type Action, allows, compileGrants, formatPermission, type Grants } from "../../platform/authorization/authorization.ts";
import { CommandFailure } from "../command.ts";
import { type Fact, lastUse, type Target } from "../confirm.ts";
import type { CallService } from "./callService.ts";
import { allRows, pagesOf } from "./pages.ts";

type Json = Readonly<Record<string, unknown>>;

/** The part of an object that the caller may read. */
type Found = Omit<Target, "kind">;

/** By what an object is found: the caller's service, and what the caller may do there. */
interface Reader {
  readonly call: CallService;
  readonly grants: Grants;
  /** Unix ms. */
  readonly now: number;
}

interface Kind {
  readonly kind: string;
  /** The field of the request that names the object. */
  readonly field: string;
  /** Rejects with exit code 4 where the object does not exist, with 3 where the caller may not read it. */
  readonly find: (request: Json, reader: Reader) => Promise<Found>;
}

const DAY_MS = 86_400_000;
/** Keys of a page: the most that there may be. */
const PER_PAGE = 100;
/** Pages that are counted: the question comes after some seconds at most. */
const MOST_PAGES = 20;

/** Characters of a text that is searched for. */
const LONGEST_SEARCH = 256;

const unknown = (reason: string): string => `unknown: ${reason}`;

const dataOf = async (call: CallService, procedure: string, body: Json): Promise<Json> => (await call(procedure, body)).data as Json;

/** A fact that rests on permissions, for an object or `*`. What cannot be read is unknown, with the reason, and keeps nothing from going on. */
const fact = async (
  label: string,
  { grants }: Reader,
  needed: readonly (readonly [Action, string])[],
  read: () => Promise<string>,
): Promise<Fact> => {
  const lacking = needed.filter(([action, id]) => !allows({ grants }, action, id)).map(([action, id]) => formatPermission({ action, id }));
  if (lacking.length > 0) return [label, unknown(`the root key lacks ${lacking.join(" and ")}`)];
  try {
    return [label, await read()];
  } catch (error) {
    if (error instanceof CommandFailure) return [label, unknown(error.message)];
    throw error;
  }
};

const countKeys = async (call: CallService, procedure: string, body: Json): Promise<string> => {
  let count = 0;
  let isWhole = false;
  for await (const { rows, cursor } of pagesOf(call, procedure, { ...body, limit: PER_PAGE }, { most: MOST_PAGES })) {
    count += rows.length;
    isWhole = cursor === undefined;
  }
  return isWhole ? count.toLocaleString("en") : `at least ${count.toLocaleString("en")}`;
};

/** The keys of all APIs that have something in common. */
const keysWith = (filter: Json, reader: Reader): Promise<Fact> =>
  fact(
    "keys",
    reader,
    [
      ["api.read_key", "*"],
      ["api.read_api", "*"],
    ],
    () => countKeys(reader.call, "keys.searchKeys", filter),
  );

const lastDay = async (reader: Reader, kind: "verifications" | "ratelimits", filter: Json): Promise<string> => {
  // A little later than now, for a service whose clock is ahead.
  const end = reader.now + 60_000;
  const { data } = await reader.call("analytics.getUsage", { kind, granularity: "total", start: end - DAY_MS, end, filter });
  const [{ count = 0 } = {}] = data as readonly { readonly count?: number }[];
  return count.toLocaleString("en");
};

/** @param apiId `*`: those of all APIs. */
const verifications = (filter: Json, apiId: string, reader: Reader): Promise<Fact> =>
  fact("verifications in the last 24 hours", reader, [["api.read_analytics", apiId]], () => lastDay(reader, "verifications", filter));

/** The row of a list that shows a caller only what it may read. Rejects with 4 or 3, whichever the absence of a row means. */
const findRow = async (
  rows: readonly unknown[],
  isMeant: (row: Json) => boolean,
  what: string,
  action: Action,
  { grants }: Reader,
): Promise<Json> => {
  const row = (rows as readonly Json[]).find(isMeant);
  if (row !== undefined) return row;
  if (allows({ grants }, action, "*")) throw new CommandFailure(4, `${what} does not exist`);
  throw new CommandFailure(3, `the root key lacks ${formatPermission({ action, id: "*" })}`);
};

const nameOf = ({ name }: Json): string | undefined => (typeof name === "string" ? name : undefined);

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** The object that each delete procedure removes. */
const kinds: Readonly<Record<string, Kind>> = {
  "apis.deleteApi": {
    kind: "API",
    field: "apiId",
    find: async ({ apiId }, reader) => {
      const api = await dataOf(reader.call, "apis.getApi", { apiId });
      const id = String(api.id);
      const readable = [["api.read_key", id] as const, ["api.read_api", id] as const];
      const keys = fact("keys", reader, readable, () => countKeys(reader.call, "apis.listKeys", { apiId }));
      return { id, name: nameOf(api), facts: await Promise.all([keys, verifications({ apiId: [id] }, id, reader)]) };
    },
  },
  "keys.deleteKey": {
    kind: "key",
    field: "keyId",
    find: async ({ keyId }, reader) => {
      const key = await dataOf(reader.call, "keys.getKey", { keyId });
      const id = String(key.keyId);
      const used = await verifications({ keyId: [id] }, String(key.apiId ?? "*"), reader);
      return { id, name: nameOf(key), facts: [used, lastUse(numberOf(key.lastUsedAt))] };
    },
  },
  "identities.deleteIdentity": {
    kind: "identity",
    field: "identity",
    find: async ({ identity, erase }, reader) => {
      const found = await dataOf(reader.call, "identities.getIdentity", { identity }).catch((error: unknown) => {
        // Traces of deleted identities can be erased as well.
        if (erase === true && error instanceof CommandFailure && error.exitCode === 4) return undefined;
        throw error;
      });
      if (found === undefined) return { id: String(identity), facts: [["state", "already deleted, or never existed"]] };
      const [id, name] = [String(found.id), String(found.externalId)];
      const facts = await Promise.all([keysWith({ externalId: name }, reader), verifications({ identityId: [id] }, "*", reader)]);
      return { id, name, nameLabel: "external id", facts };
    },
  },
  "migrations.deleteMigration": {
    kind: "migration",
    field: "migrationId",
    find: async ({ migrationId }, reader) => {
      const rows = await allRows(reader.call, "migrations.listMigrations");
      const row = await findRow(
        rows,
        (each) => each.migrationId === migrationId,
        `the migration ${migrationId}`,
        "migration.read_migration",
        reader,
      );
      return { id: String(migrationId), name: nameOf(row), facts: [["algorithm", String(row.algorithm)]] };
    },
  },
  "permissions.deletePermission": {
    kind: "permission",
    field: "permission",
    find: async ({ permission }, reader) => {
      const found = await dataOf(reader.call, "permissions.getPermission", { permission });
      const slug = String(found.slug);
      return { id: String(found.id), name: nameOf(found), facts: [["slug", slug], await keysWith({ permission: slug }, reader)] };
    },
  },
  "permissions.deleteRole": {
    kind: "role",
    field: "role",
    find: async ({ role }, reader) => {
      const found = await dataOf(reader.call, "permissions.getRole", { role });
      return { id: String(found.id), name: nameOf(found), facts: [await keysWith({ role: found.name }, reader)] };
    },
  },
  "ratelimit.deleteNamespace": {
    kind: "namespace",
    field: "namespace",
    find: async ({ namespace }, reader) => {
      const search = [...String(namespace)].slice(0, LONGEST_SEARCH).join("");
      const rows = await allRows(reader.call, "ratelimit.listNamespaces", { search });
      const isMeant = (each: Json): boolean => each.id === namespace || each.name === namespace;
      const row = await findRow(rows, isMeant, `the namespace ${namespace}`, "ratelimit.read_namespace", reader);
      const id = String(row.id);
      const checks = fact("checks in the last 24 hours", reader, [["ratelimit.read_analytics", id]], () =>
        lastDay(reader, "ratelimits", { namespaceId: [id] }),
      );
      return { id, name: nameOf(row), facts: [await checks] };
    },
  },
  "ratelimit.deleteOverride": {
    kind: "override",
    field: "identifier",
    find: async ({ namespace, identifier }, reader) => {
      const found = await dataOf(reader.call, "ratelimit.getOverride", { namespace, identifier });
      const limit: Fact = ["limit", `${found.limit} in ${found.duration} ms`];
      const name = String(found.identifier);
      return { id: String(found.overrideId), name, nameLabel: "identifier", facts: [["namespace", String(namespace)], limit] };
    },
  },
  "rootKeys.deleteKey": {
    kind: "root key",
    field: "keyId",
    find: async ({ keyId }, reader) => {
      const rows = await allRows(reader.call, "rootKeys.listKeys");
      const row = await findRow(rows, (each) => each.keyId === keyId, `the root key ${keyId}`, "root_key.read_root_key", reader);
      return { id: String(keyId), name: nameOf(row), facts: [lastUse(numberOf(row.lastUsedAt))] };
    },
  },
};

/**
 * What a call of a procedure that deletes is about to delete. What the caller may not read is unknown, with the reason, and its id
 * is what the request says. Rejects with 4 where the object does not exist, and as calls do.
 * @param now Unix ms
 */
export const findTarget = async (call: CallService, procedure: string, request: Json, now: number): Promise<Target> => {
  const known = kinds[procedure];
  if (known === undefined) throw new Error(`${procedure} deletes something of an unknown kind`);
  const { kind, field, find } = known;
  const { permissions } = (await call("rootKeys.whoami", {})).data as { readonly permissions: readonly string[] };
  try {
    return { kind, ...(await find(request, { call, grants: compileGrants(permissions), now })) };
  } catch (error) {
    if (!(error instanceof CommandFailure) || error.exitCode !== 3) throw error;
    return { kind, id: String(request[field]), facts: [["details", unknown(error.message)]] };
  }
};
