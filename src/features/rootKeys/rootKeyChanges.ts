import { allows, formatPermission, parsePermission } from "../../platform/authorization/authorization.ts";
import { invalidInput, ServiceError, type Violation } from "../../platform/base/errors.ts";
import { createId } from "../../platform/base/ids.ts";
import { createRootKeySecret, type RootKeySecret } from "../../platform/secrets/rootKeySecret.ts";
import type { Secret } from "../../platform/secrets/secret.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { OperationOptions, Update } from "../../platform/storage/port/collection.ts";
import type { RootKeyDocument } from "../../platform/storage/port/documents.ts";
import { newDocument } from "../../platform/storage/repositories/shared/audited.ts";
import type { Modification } from "../../platform/storage/repositories/shared/modify.ts";
import { type AuditSource, auditEvent, resource } from "../audit/auditEvent.ts";
import { admitted } from "./authenticator.ts";
import type { RootKeysRepository } from "./rootKeysRepository.ts";

/** Managing root keys (protocol §7); the command line and the procedures of `rootKeys` use the same functions. */

/** The most permissions that a root key has (rootkeys §2). */
const MOST_PERMISSIONS = 1_000;

/** The items of a permission list that protocol §8 refuses; of a list that is too long, of as many as there may be. */
export const refusedPermissions = (permissions: readonly string[]): Violation[] =>
  permissions.slice(0, MOST_PERMISSIONS).flatMap((text, i) =>
    parsePermission(text) !== undefined
      ? []
      : {
          location: `body.permissions[${i}]`,
          message: `'${text}' is not a root-key permission`,
          fix: "Write <type>.<id or *>.<action>, such as api.*.verify_key.",
        },
  );

/** Throws 400 `invalid_input` when there is anything in the list, with one entry for each. */
export const refuse = (violations: readonly Violation[]): void => {
  if (violations.length === 0) return;
  throw invalidInput(`${violations.map(({ location, message }) => `${location}: ${message}`).join("; ")}.`, violations);
};

/**
 * Reads a permission list: each item once, spelled with the type `api`, sorted. 400 `invalid_input` names every item
 * that protocol §8 refuses.
 */
export const readPermissions = (permissions: readonly string[]): string[] => {
  refuse(refusedPermissions(permissions));
  return [...new Set(permissions.flatMap((text) => parsePermission(text) ?? []).map(formatPermission))].sort();
};

const notFound = (rootKeyId: string): ServiceError => new ServiceError("key_not_found", `The root key ${rootKeyId} does not exist.`);

export interface NewRootKey {
  readonly name?: string | undefined;
  /** Undefined = every permission, also those of later versions. */
  readonly permissions?: readonly string[] | undefined;
  /** Unix ms. */
  readonly expires?: number | undefined;
}

/** What identifies a root key that is about to be made. */
export interface RootKeyIdentity {
  readonly rootKeyId: string;
  readonly secret: RootKeySecret;
}

export const rootKeyCreated = (source: AuditSource, rootKeyId: string, name: string | undefined): AuditEvent =>
  auditEvent(source, "rootKey.create", `Created root key ${rootKeyId}`, resource("key", rootKeyId, name));

/** Makes a root key. Its secret is returned this once; only its hash is stored. */
export const createRootKey = async (
  rootKeys: RootKeysRepository,
  { name, permissions, expires }: NewRootKey,
  source: AuditSource,
  { rootKeyId, secret }: RootKeyIdentity = { rootKeyId: createId("rk", source.now), secret: createRootKeySecret() },
  events: readonly AuditEvent[] = [rootKeyCreated(source, rootKeyId, name)],
  options?: OperationOptions,
): Promise<{ readonly rootKeyId: string; readonly key: Secret }> => {
  const { key, hash, start, end } = secret;
  const rootKey: RootKeyDocument = {
    ...newDocument(rootKeyId, source.now, events),
    hash,
    start,
    end,
    enabled: true,
    ...(name === undefined ? {} : { name }),
    ...(permissions === undefined ? {} : { permissions: readPermissions(permissions) }),
    ...(expires === undefined ? {} : { expires }),
  };
  await rootKeys.insert(rootKey, options);
  return { rootKeyId, key };
};

/** All root keys that are not deleted, ascending by id. */
export const listRootKeys = (rootKeys: RootKeysRepository): Promise<RootKeyDocument[]> => rootKeys.list();

/** 404 `key_not_found` when there is none with this id. */
export const findRootKey = async (rootKeys: RootKeysRepository, rootKeyId: string): Promise<RootKeyDocument> => {
  const rootKey = await rootKeys.find(rootKeyId);
  if (rootKey === null) throw notFound(rootKeyId);
  return rootKey;
};

/** Omitted keeps; null removes the name, the expiry, or (for permissions) the restriction to a list. */
export interface RootKeyUpdate {
  readonly name?: string | null | undefined;
  readonly permissions?: readonly string[] | null | undefined;
  readonly expires?: number | null | undefined;
  readonly enabled?: boolean | undefined;
}

/** Whether the console lets somebody in with it at `now`. */
const maySignIn = (rootKey: RootKeyDocument, now: number): boolean => {
  const caller = admitted(rootKey, now);
  return caller !== undefined && allows(caller, "console.sign_in", "*");
};

/** What a change writes, by the root key as it is then, with its event. 400 `invalid_input` as `readPermissions`. */
export const changeRootKey = (
  { name, permissions, expires, enabled }: RootKeyUpdate,
  source: AuditSource,
): ((rootKey: RootKeyDocument) => Modification<RootKeyDocument>) => {
  const listed = permissions ? readPermissions(permissions) : undefined;
  return (rootKey) => {
    const $set: Update<RootKeyDocument>["$set"] = {
      // Calls may overtake one another, and nodes' clocks differ.
      updatedAt: Math.max(rootKey.updatedAt ?? 0, source.now),
      ...(typeof name === "string" ? { name } : {}),
      ...(listed === undefined ? {} : { permissions: listed }),
      ...(typeof expires === "number" ? { expires } : {}),
      ...(enabled === undefined ? {} : { enabled }),
    };
    const $unset: Update<RootKeyDocument>["$unset"] = {
      ...(expires === undefined ? {} : { expiresInclusive: "" }),
      ...(name === null ? { name: "" } : {}),
      ...(permissions === null ? { permissions: "" } : {}),
      ...(expires === null ? { expires: "" } : {}),
    };
    const becomes = {
      ...rootKey,
      ...$set,
      ...Object.fromEntries(Object.keys($unset).map((field) => [field, undefined])),
    } as RootKeyDocument;
    const endsSessions = !maySignIn(rootKey, source.now) || !maySignIn(becomes, source.now);
    const nameFromNow = name === undefined ? rootKey.name : (name ?? undefined);
    const event = auditEvent(source, "rootKey.update", `Updated root key ${rootKey._id}`, resource("key", rootKey._id, nameFromNow));
    return {
      update: {
        $set,
        ...(Object.keys($unset).length > 0 ? { $unset } : {}),
        ...(endsSessions ? { $inc: { sessionsEnded: 1 } } : {}),
      },
      events: [event],
    };
  };
};

/** Changes a root key. 404 `key_not_found` when there is none with this id. */
export const updateRootKey = async (
  rootKeys: RootKeysRepository,
  rootKeyId: string,
  changes: RootKeyUpdate,
  source: AuditSource,
): Promise<void> => {
  if ((await rootKeys.modify(rootKeyId, changeRootKey(changes, source))) === null) throw notFound(rootKeyId);
};

/** Disables a root key: its calls are answered 401 `authentication/key_disabled` from then on. 404 `key_not_found`. */
export const revokeRootKey = (rootKeys: RootKeysRepository, rootKeyId: string, source: AuditSource): Promise<void> =>
  updateRootKey(rootKeys, rootKeyId, { enabled: false }, source);
