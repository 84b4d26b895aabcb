import { hash } from "node:crypto";
import { drawRandom } from "../../platform/secrets/secret.ts";
import type { AuditEvent } from "../../platform/storage/port/auditEvents.ts";
import type { AuditLogDocument } from "../../platform/storage/port/documents.ts";

/** Hash of the (imaginary) entry before the first one. */
export const GENESIS: string = "0".repeat(64);

/** The newest form of entries. 2: with what the events change. 3: with texts that can be erased. It is written once all live nodes know it. */
export const AUDIT_FORMAT = 3;

/** With which every hash of the third form begins, so that nobody can give such an entry out for one of an earlier form. */
export const THIRD_FORM = "00000003";

/** Whether this version knows how an entry was hashed. */
export const isKnownFormat = (format: number): boolean => [1, 2, AUDIT_FORMAT].includes(format);

const SALT_BYTES = 16;

/** For the texts of an entry of the third form: who does not have it cannot tell from their digest what they were. */
export const newSalt = (): string => Buffer.from(drawRandom(SALT_BYTES, "salt:")).toString("base64url");

/** 16 bytes in base64url. */
const SALT = /^[\w-]{22}$/;
const DIGEST = /^[0-9a-f]{64}$/;

/**
 * Whether the hash of an entry covers texts: one of the third form has a salt for them, or their digest once they were erased. With neither
 * it would have the same hash whatever it says.
 */
export const coversTexts = ({ format, salt, erasure }: Pick<AuditLogDocument, "format" | "salt" | "erasure">): boolean => {
  if (format !== AUDIT_FORMAT) return true;
  const [text, form]: [unknown, RegExp] = erasure === undefined ? [salt, SALT] : [erasure.digest, DIGEST];
  return typeof text === "string" && form.test(text);
};

/** Hex SHA-256 of the texts of an event: its description, the names of its resources, its changes. */
export const textsDigest = (salt: string, { display, resources, changes }: AuditEvent): string =>
  hash("sha256", JSON.stringify([salt, display, resources.map(({ name }) => name ?? null), changes ?? null]), "hex");

/** What an event has beside its texts, in the order in which it is hashed. */
export const plainMembers = ({ id, event, time, actor, remoteIp, userAgent, resources, correlationId }: AuditEvent): readonly unknown[] => [
  ...[id, event, time, [actor.type, actor.id, actor.name ?? null], remoteIp ?? null, userAgent ?? null],
  ...[resources.map((item) => [item.type, item.id]), correlationId],
];

/**
 * Hex SHA-256 that chains an event to its predecessor's hash. Property order is part of the format.
 * @param texts of the third form: the salt of its texts, or their digest once they were erased
 */
export const chainHash = (
  previousHash: string,
  sequence: number,
  event: AuditEvent,
  format = 1,
  { salt, erasure }: Pick<AuditLogDocument, "salt" | "erasure"> = {},
): string => {
  if (format === AUDIT_FORMAT) {
    const digest = erasure?.digest ?? (salt === undefined ? null : textsDigest(salt, event));
    const digested = hash("sha256", JSON.stringify([format, previousHash, sequence, ...plainMembers(event), digest]), "hex");
    return THIRD_FORM + digested.slice(THIRD_FORM.length);
  }
  const { id, event: name, time, actor, display, remoteIp, userAgent, resources, correlationId, changes } = event;
  const members = [
    previousHash,
    sequence,
    id,
    name,
    time,
    [actor.type, actor.id, actor.name ?? null],
    display,
    remoteIp ?? null,
    userAgent ?? null,
    resources.map((item) => [item.type, item.id, item.name ?? null]),
    correlationId,
  ];
  // Begins with its number, as the first form begins with a text: no entry has the same text in two forms.
  return hash("sha256", JSON.stringify(format === 1 ? members : [format, ...members, changes ?? null]), "hex");
};

/** Whether an entry has its texts, and is hashed as it stands: only then it can state something. Throws a `TypeError` where it is no event. */
export const isHashedWhole = (entry: AuditLogDocument): boolean => {
  const { previousHash, sequence, event, format, erasure } = entry;
  return erasure === undefined && coversTexts(entry) && entry.hash === chainHash(previousHash, sequence, event, format, entry);
};
