import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type AuditLog, AuditLogSchema } from "../../../../gen/latchkey/v2/audit_pb.ts";
import type { Change } from "../../design/values/Diff.tsx";
import { utcTime } from "../../design/values/formatTime.ts";

/** A number that is Unix ms of this century, for people. */
const dateText = (value: JsonValue): string => (typeof value === "number" && value > 1e12 && value < 4.2e12 ? ` (${utcTime(value)})` : "");

const valueText = (value: JsonValue | undefined, truncated: boolean): string | undefined => {
  if (value === undefined) return undefined;
  const text = typeof value === "string" ? value : `${JSON.stringify(value)}${dateText(value)}`;
  return truncated ? `${text} … (cut at 1 KiB)` : text;
};

const changeOf = ({ field, before, after, by, redacted, truncated }: JsonObject): Change => {
  const name = String(field);
  if (redacted === true) return { field: name, before: "a secret", after: "another secret" };
  if (typeof by === "number") return { field: name, before: "what it was", after: by < 0 ? `${-by} less` : `${by} more` };
  return { field: name, before: valueText(before, truncated === true), after: valueText(after, truncated === true) };
};

/** The changes in an audit entry (management §4). Undefined: the entry records none. */
export const changesOf = ({ meta }: AuditLog): readonly Change[] | undefined => meta?.changes?.values.map(changeOf);

/** The actor's name, or else the id. */
export const actorText = ({ actor }: AuditLog): string => actor?.name ?? (actor?.id || actor?.type) ?? "–";

const pages: Readonly<Record<string, string>> = { api: "apis", key: "keys", ratelimitNamespace: "limits" };

/** The page of a resource, where its type has one. */
export const resourcePage = (type: string, id: string): string | undefined =>
  pages[type] === undefined ? undefined : `/ui/${pages[type]}/${encodeURIComponent(id)}`;

/** The place in the chain. */
export const sequenceOf = ({ meta }: AuditLog): bigint => meta?.sequence ?? 0n;

/** An entry as `audit.getLogs` shows it on /v2: a row of an export. */
export const exportRow = (entry: AuditLog): JsonObject => {
  const { meta, ...row } = toJson(AuditLogSchema, entry) as JsonObject;
  const changes = entry.meta?.changes?.values;
  return {
    ...row,
    meta: {
      ...(meta as JsonObject),
      sequence: Number(sequenceOf(entry)),
      ...(changes === undefined ? {} : { changes }),
    },
  };
};
