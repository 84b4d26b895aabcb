import { type AuditSource, systemSource } from "../audit/auditEvent.ts";
import { parsePermission } from "../domain/authorization.ts";
import { createRootKey, listRootKeys, type RootKeyUpdate, readPermissions, revokeRootKey, updateRootKey } from "../rootKeys/rootKeys.ts";
import type { RootKeyDocument } from "../storage/documents.ts";
import { createRootKeysRepository, type RootKeysRepository } from "../storage/rootKeys.ts";
import { readArguments } from "./arguments.ts";
import { checkName } from "./checkName.ts";
import { type Command, type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";
import { parseExpiry } from "./expiry.ts";
import { isUntouched } from "./firstStart.ts";
import { formatTable } from "./table.ts";

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

const create: Command = {
  name: "root-key create",
  usage: "--name NAME [--permission PERMISSION …] [--expires TIME]",
  summary: "Make a root key and print its secret, this once, as the last line. No --permission: it may do everything.",
  run: (args, context) => {
    const { values } = readArguments(args, {
      name: { type: "string" },
      permission: { type: "string", multiple: true },
      expires: { type: "string" },
    });
    const name = checkName(values.name);
    if (name === undefined) throw new UsageError("--name is missing");
    const expires = values.expires === undefined ? undefined : parseExpiry(values.expires, context.clock.now());
    const permissions = values.permission && checkPermissions(values.permission);
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

const row = (key: RootKeyDocument): readonly string[] => [
  key._id,
  key.name ?? "",
  `${key.start}…${key.end}`,
  key.enabled ? "enabled" : "revoked",
  time(key.createdAt, ""),
  time(key.lastUsedAt, "never"),
  time(key.expires, "never"),
  key.permissions?.join(" ") ?? "everything",
];

const list: Command = {
  name: "root-key list",
  usage: "",
  summary: "Show all root keys; never their secrets.",
  run: (args, context) => {
    readArguments(args, {});
    return withRootKeys(context, async (rootKeys) => {
      const rows = (await listRootKeys(rootKeys)).map(row);
      const header = ["ID", "NAME", "KEY", "STATE", "CREATED", "LAST USED", "EXPIRES", "PERMISSIONS"];
      for (const line of formatTable([header, ...rows])) await context.print(line);
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

const readUpdate = (args: readonly string[], now: number): { readonly rootKeyId: string; readonly update: RootKeyUpdate } => {
  const { values, positionals } = readArguments(
    args,
    {
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
  return { rootKeyId: positionals[0] ?? "", update };
};

const update: Command = {
  name: "root-key update",
  usage: "ID [--name NAME] [--permission PERMISSION … | --all-permissions] [--enable | --disable] [--expires TIME | --no-expiry]",
  summary: "Change a root key; the permissions given are its complete new set. What is not named stays.",
  run: (args, context) => {
    const { rootKeyId, update: changes } = readUpdate(args, context.clock.now());
    return withRootKeys(context, async (rootKeys, source) => {
      await updateRootKey(rootKeys, rootKeyId, changes, source);
      await context.complain(`Updated ${rootKeyId}.`);
    });
  },
};

const revoke: Command = {
  name: "root-key revoke",
  usage: "ID",
  summary: "Disable a root key everywhere within 30 seconds; `root-key update ID --enable` undoes it.",
  run: (args, context) => {
    const { positionals } = readArguments(args, {}, "ID");
    const rootKeyId = positionals[0] ?? "";
    return withRootKeys(context, async (rootKeys, source) => {
      await revokeRootKey(rootKeys, rootKeyId, source);
      await context.complain(`Revoked ${rootKeyId}.`);
    });
  },
};

/** Managing root keys on the configured store, also while servers use it (protocol §7). */
export const rootKeyCommands: readonly Command[] = [create, list, update, revoke];
