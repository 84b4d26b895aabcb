import { type AuditSource, systemSource } from "../../features/audit/auditEvent.ts";
import {
  createRootKey,
  findRootKey,
  listRootKeys,
  type RootKeyUpdate,
  readPermissions,
  revokeRootKey,
  updateRootKey,
} from "../../features/rootKeys/rootKeyChanges.ts";
import { createRootKeysRepository, type RootKeysRepository } from "../../features/rootKeys/rootKeysRepository.ts";
import { rootKeyTemplates } from "../../features/rootKeys/rootKeyTemplates.ts";
import { allPermissions, parsePermission } from "../../platform/authorization/authorization.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";
import { formatTable, jsonLine, oneLine } from "../../platform/util/table.ts";
import { readArguments } from "../arguments.ts";
import { checkName } from "../checkName.ts";
import { type Command, type CommandContext, type ExitCode, UsageError } from "../command.ts";
import { withAnnouncingStore } from "../configuredStore.ts";
import { confirm, confirmOptions, lastUse, requireConfirmable } from "../confirm.ts";
import { parseExpiry } from "../expiry.ts";
import { isUntouched } from "../firstStart.ts";
import { namedService } from "../remote/callService.ts";
import { type ConnectionValues, connectionOptions } from "../remote/connection.ts";
import { findTarget } from "../remote/findTarget.ts";
import { allRows } from "../remote/pages.ts";

/** Runs `use` on the root keys of the configured store. */
const withRootKeys = (
  context: CommandContext,
  use: (rootKeys: RootKeysRepository, source: AuditSource) => Promise<void>,
): Promise<ExitCode> => withAnnouncingStore(context, (store) => use(createRootKeysRepository(store), systemSource(store.clock)));

/** `permissions` as they are stored. Names every one that protocol §8 refuses by its option, not by its place in a request. */
const checkPermissions = (permissions: readonly string[]): string[] => {
  const refused = permissions.filter((text) => parsePermission(text) === undefined).map((text) => `'${text}'`);
  if (refused.length === 0) return readPermissions(permissions);
  const verdict = refused.length === 1 ? "is not a root-key permission" : "are not root-key permissions";
  const form = "write <type>.<id or *>.<action>, such as api.*.read_api";
  throw new UsageError(`--permission: ${refused.join(" and ")} ${verdict}; ${form}`);
};

const templateNames = rootKeyTemplates.map(({ name }) => name);

/** Permissions of the new root key; undefined grants everything. */
const givenPermissions = ({
  template,
  permission,
}: {
  readonly template?: string | undefined;
  readonly permission?: readonly string[] | undefined;
}): string[] | undefined => {
  const chosen = rootKeyTemplates.find(({ name }) => name === template);
  if (template !== undefined && chosen === undefined) {
    throw new UsageError(`--template: there is no ${JSON.stringify(template)}; want one of ${templateNames.join(", ")}`);
  }
  if (chosen === undefined && permission === undefined) return undefined;
  return checkPermissions([...(chosen?.permissions ?? []), ...(permission ?? [])]);
};

const create: Command = {
  name: "root-key create",
  usage: `--name NAME [--template ${templateNames.join("|")}] [--permission PERMISSION …] [--expires TIME] [--url URL]`,
  summary:
    "Create a root key and print its secret, once, as the last line. It gets the permissions of the template and those given besides; without either (not with --url) it may do everything.",
  run: async (args, context) => {
    const { values } = readArguments(args, {
      ...connectionOptions,
      name: { type: "string" },
      template: { type: "string" },
      permission: { type: "string", multiple: true },
      expires: { type: "string" },
    });
    const name = checkName(values.name);
    if (name === undefined) throw new UsageError("--name is missing");
    const expires = values.expires === undefined ? undefined : parseExpiry(values.expires, context.clock.now());
    const permissions = givenPermissions(values);
    const service = await namedService(values, context);
    if (service !== undefined) {
      if (permissions === undefined) {
        throw new UsageError("--template or --permission is missing: a service makes no root key that may do everything");
      }
      const { data } = await service("rootKeys.createKey", { name, permissions, expires });
      const { keyId, key } = data as { readonly keyId: string; readonly key: string };
      await context.complain(`Created ${keyId}. The root key is shown only now:`);
      await context.print(key);
      return 0;
    }
    return withAnnouncingStore(
      context,
      async (store) => {
        const isFirst = store.engine === "embedded" && (await isUntouched(store));
        const source = systemSource(store.clock);
        const { rootKeyId, key } = await createRootKey(createRootKeysRepository(store), { name, permissions, expires }, source);
        if (isFirst)
          await context.complain("This is the store's first root key: the first start of the service will make none of its own.");
        await context.complain(`Created ${rootKeyId}. The root key is shown only now:`);
        await context.print(key.reveal());
      },
      "create",
    );
  },
};

const time = (unixMs: number | undefined, otherwise: string): string =>
  unixMs === undefined ? otherwise : new Date(unixMs).toISOString().slice(0, 19).concat("Z");

/** As `rootKeys.listKeys` shows it, without what was used of it. */
interface Listed {
  readonly keyId: string;
  readonly name: string | null;
  readonly start: string;
  readonly end: string;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expires: number | null;
  readonly permissions: readonly string[];
}

const listed = (key: RootKeyDocument): Listed => ({
  keyId: key._id,
  name: key.name ?? null,
  start: key.start,
  end: key.end,
  enabled: key.enabled,
  createdAt: key.createdAt,
  lastUsedAt: key.lastUsedAt ?? 0,
  expires: key.expires ?? null,
  permissions: key.permissions ?? allPermissions,
});

const row = (key: Listed): readonly string[] => [
  key.keyId,
  oneLine(key.name ?? ""),
  `${key.start}…${key.end}`,
  key.enabled ? "enabled" : "revoked",
  time(key.createdAt, ""),
  time(key.lastUsedAt || undefined, "never"),
  time(key.expires ?? undefined, "never"),
  allPermissions.every((permission) => key.permissions.includes(permission)) ? "everything" : key.permissions.join(" "),
];

const printList = async (keys: readonly Listed[], asJson: boolean | undefined, { print }: CommandContext): Promise<ExitCode> => {
  const header = ["ID", "NAME", "KEY", "STATE", "CREATED", "LAST USED", "EXPIRES", "PERMISSIONS"];
  const lines = asJson ? [jsonLine(keys)] : formatTable([header, ...keys.map(row)]);
  for (const line of lines) await print(line);
  return 0;
};

const list: Command = {
  name: "root-key list",
  usage: "[--json] [--url URL]",
  summary: "List root keys, with --url only those that you may read; never their secrets.",
  run: async (args, context) => {
    const { values } = readArguments(args, { ...connectionOptions, json: { type: "boolean" } });
    const service = await namedService(values, context);
    if (service !== undefined) return printList((await allRows(service, "rootKeys.listKeys")) as Listed[], values.json, context);
    return withRootKeys(context, async (rootKeys) => {
      await printList((await listRootKeys(rootKeys)).map(listed), values.json, context);
    });
  },
};

/** The value of one of two options that exclude each other; undefined when neither is there. */
const either = <A, B>(a: readonly [string, A | undefined], b: readonly [string, B | undefined]): A | B | undefined => {
  if (a[1] !== undefined && b[1] !== undefined) throw new UsageError(`${a[0]} and ${b[0]} exclude each other`);
  return a[1] === undefined ? b[1] : a[1];
};

/** A flag as a value: `value` when it is given. */
const flag = <V>(given: boolean | undefined, value: V): V | undefined => (given === true ? value : undefined);

interface AskedUpdate {
  readonly rootKeyId: string;
  readonly update: RootKeyUpdate;
  readonly values: ConnectionValues;
}

const readUpdate = (args: readonly string[], now: number): AskedUpdate => {
  const { values, positionals } = readArguments(
    args,
    {
      ...connectionOptions,
      name: { type: "string" },
      permission: { type: "string", multiple: true },
      "all-permissions": { type: "boolean" },
      enable: { type: "boolean" },
      disable: { type: "boolean" },
      expires: { type: "string" },
      "no-expiry": { type: "boolean" },
    },
    "ID",
  );
  const expires = either(["--expires", values.expires], ["--no-expiry", flag(values["no-expiry"], null)]);
  const permissions = either(["--permission", values.permission], ["--all-permissions", flag(values["all-permissions"], null)]);
  const update: RootKeyUpdate = {
    name: checkName(values.name),
    permissions: permissions && checkPermissions(permissions),
    enabled: either(["--enable", flag(values.enable, true)], ["--disable", flag(values.disable, false)]),
    expires: typeof expires === "string" ? parseExpiry(expires, now) : expires,
  };
  if (Object.values(update).every((value) => value === undefined)) throw new UsageError("nothing to change was given");
  return { rootKeyId: positionals[0] ?? "", update, values };
};

/** Changes a root key by `rootKeys.updateKey`, where a service is named; says whether it did. */
const updateByService = async (context: CommandContext, { rootKeyId, update: changes, values }: AskedUpdate): Promise<boolean> => {
  const service = await namedService(values, context);
  if (service === undefined) return false;
  if (changes.permissions === null)
    throw new UsageError("--all-permissions is only for the store: a service makes no root key that may do everything");
  await service("rootKeys.updateKey", { keyId: rootKeyId, ...changes });
  return true;
};

const update: Command = {
  name: "root-key update",
  usage:
    "ID [--name NAME] [--permission PERMISSION … | --all-permissions] [--enable | --disable] [--expires TIME | --no-expiry] [--url URL]",
  summary: "Change a root key. The permissions given replace all of its permissions; everything else you leave out is kept.",
  run: async (args, context) => {
    const asked = readUpdate(args, context.clock.now());
    const { rootKeyId, update: changes } = asked;
    if (await updateByService(context, asked)) {
      await context.complain(`Updated ${rootKeyId}.`);
      return 0;
    }
    return withRootKeys(context, async (rootKeys, source) => {
      await updateRootKey(rootKeys, rootKeyId, changes, source);
      await context.complain(`Updated ${rootKeyId}.`);
    });
  },
};

const revoke: Command = {
  name: "root-key revoke",
  usage: "ID [--yes] [--url URL]",
  summary:
    "Disable a root key on every node within a second, where a node cannot reach the store within 30; `root-key update ID --enable` undoes it.",
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { ...connectionOptions, ...confirmOptions }, "ID");
    const [rootKeyId = ""] = positionals;
    requireConfirmable(values, context);
    const service = await namedService(values, context);
    if (service !== undefined) {
      const request = { keyId: rootKeyId };
      await confirm("revokes", () => findTarget(service, "rootKeys.deleteKey", request, context.clock.now()), values, context);
      await service("rootKeys.updateKey", { ...request, enabled: false });
      await context.complain(`Revoked ${rootKeyId}.`);
      return 0;
    }
    return withRootKeys(context, async (rootKeys, source) => {
      const { name, lastUsedAt } = await findRootKey(rootKeys, rootKeyId);
      await confirm("revokes", async () => ({ kind: "root key", id: rootKeyId, name, facts: [lastUse(lastUsedAt)] }), values, context);
      await revokeRootKey(rootKeys, rootKeyId, source);
      await context.complain(`Revoked ${rootKeyId}.`);
    });
  },
};

/** Managing root keys on the configured store, also while servers use it (protocol §7). */
export const rootKeyCommands: readonly Command[] = [create, list, update, revoke];
