import { errorStatus } from "../../src/platform/http/errorStatus.ts";
import { type Bounds, type FieldDoc, type ProcedureDoc, reasonsOfEveryCall } from "./descriptors.ts";
import { errorLink, grpcCode } from "./errorPages.ts";
import { errorTexts } from "./errorTexts.ts";
import { code, fence, page, table } from "./markdown.ts";
import { curl, grpcurl, typescript } from "./snippets.ts";

const errors = "../errors";

const typeNames: Readonly<Record<FieldDoc["kind"], string>> = {
  text: "string",
  boolean: "boolean",
  integer: "integer",
  time: "integer, Unix ms",
  timestamp: "string, RFC 3339",
  duration: "integer, ms",
  enum: "string",
  struct: "object",
  object: "object",
};

const number = (value: number): string => String(value);

const range = (min: number | undefined, max: number | undefined, unit: string): string[] => {
  if (min === undefined && max === undefined) return [];
  if (max === undefined) return [`at least ${number(min ?? 0)}${unit}`];
  return [min === undefined ? `at most ${number(max)}${unit}` : `${number(min)} to ${number(max)}${unit}`];
};

const boundsText = ({ kind, values, isList, bounds }: FieldDoc): string => {
  const { min, max, pattern, minItems, maxItems, maxJsonBytes, maxProperties }: Bounds = bounds;
  const each = isList ? "each " : "";
  const own = [
    ...range(min, max, kind === "text" ? " characters" : ""),
    ...(pattern === undefined ? [] : [code(pattern)]),
    ...(values.length > 0 ? [values.map(code).join(", ")] : []),
    ...(maxJsonBytes === undefined ? [] : [`at most ${number(maxJsonBytes)} bytes of JSON`]),
    ...(maxProperties === undefined ? [] : [`at most ${number(maxProperties)} properties`]),
  ];
  return [...range(minItems, maxItems, " items"), ...own.map((text, i) => (i === 0 ? each + text : text))].join("; ");
};

const typeText = (field: FieldDoc): string => {
  const name = typeNames[field.kind];
  return `${field.isList ? `array of ${name}` : name}${field.none === null ? " or null" : ""}`;
};

/** What leaving a field out means, as the interface says of it. */
const omittedText = (field: FieldDoc, isUpdate: boolean): string => {
  if (field.required) return "400";
  const said = /(?:^|[.;] )(?:Unset|Omitted)(?: or null)?: ([^.;]+)/i.exec(field.comment)?.[1];
  if (said !== undefined) return said;
  if (field.default !== "") return field.default;
  return isUpdate ? "kept" : "not set";
};

const nullText = (field: FieldDoc): string =>
  field.none === null ? (/(?:^|[.;] |or )null(?: or empty)?: ([^.;]+)/i.exec(field.comment)?.[1] ?? "none") : "400";

const emptyText = (field: FieldDoc): string => {
  if (field.kind === "object" && !field.isList) return field.fields.some(({ required }) => required) ? "400" : "`{}`: as omitted";
  if (field.kind === "struct") return "`{}`: none";
  if (/empty list lets nothing pass/i.test(field.comment)) return "`[]`: nothing passes";
  if (field.isList) return (field.bounds.minItems ?? 0) > 0 || (field.required && field.none === undefined) ? "400" : "`[]`: none";
  if (field.kind !== "text" && field.kind !== "timestamp") return "–";
  return (field.bounds.min ?? 0) > 0 || field.required ? "400" : '`""`: as omitted';
};

/** A field and those within it, with their paths: `credits.refill.amount`, `ratelimits[].name`. */
const flatten = (fields: readonly FieldDoc[], path = ""): (readonly [path: string, field: FieldDoc])[] =>
  fields.flatMap((field) => {
    const own = `${path}${field.name}${field.isList && field.fields.length > 0 ? "[]" : ""}`;
    return [[own, field] as const, ...flatten(field.fields, `${own}.`)];
  });

const describe = (field: FieldDoc): string => `${field.deprecated ? "**Deprecated.** " : ""}${field.comment}`.trim();

const requestTable = ({ request, arrayBody, name }: ProcedureDoc): string => {
  const isUpdate = /\.update(?!Credits)/.test(name);
  const fields = arrayBody === "" ? request : (request.find((field) => field.name === arrayBody)?.fields ?? []);
  if (fields.length === 0) return "The body is an empty object: `{}`.";
  const rows = flatten(fields).map(([path, field]) => [
    code(path),
    typeText(field),
    boundsText(field),
    omittedText(field, isUpdate && !path.includes(".")),
    nullText(field),
    emptyText(field),
    describe(field),
  ]);
  return table(["Field", "Type", "Bounds", "Omitted", "`null`", "Empty", "Meaning"], rows);
};

const presence = (field: FieldDoc): string => (field.alwaysPresent ? "always" : "when there is one");

const answerTable = ({ data }: ProcedureDoc): string => {
  if (data.fields.length === 0) return data.isList ? `\`data\` is an array of objects. ${describe(data)}` : "`data` is an empty object.";
  const intro = data.isList
    ? "`data` is an array of objects with these fields. It may be empty."
    : "`data` is an object with these fields.";
  const rows = flatten(data.fields).map(([path, field]) => [
    code(path),
    typeText(field) + (field.values.length > 0 ? `: ${field.values.map(code).join(", ")}` : ""),
    presence(field),
    describe(field),
  ]);
  return `${intro}\n\n${table(["Field", "Type", "Present", "Meaning"], rows)}`;
};

const triple = /\b[a-z_]+\.(?:\{[^}]*\}|\*)\.[a-z_]+\b/g;

const permissionText = ({ permissions }: ProcedureDoc): string => {
  const [first = "none: any root key may call it"] = permissions;
  if (first.startsWith("none: ")) return `None: ${first.slice("none: ".length)}.`;
  const note = permissions.some((text) => text.includes("{"))
    ? "\n\n`{…}` is the id of the object. A permission with `*` instead covers every object."
    : "";
  return `${permissions.map((text) => `- ${text.replaceAll(triple, code)}`).join("\n")}${note}`;
};

const headerText = ({ changes, ifMatch, etag, noStore, name }: ProcedureDoc): string =>
  [
    changes
      ? "- `Idempotency-Key`: taken. A repeat with the same key and body within 24 hours gets the same answer and changes nothing again."
      : `- \`Idempotency-Key\`: ignored, ${name === "keys.verifyKey" || /^ratelimit\.(multiL|l)imit$/.test(name) ? "each call counts" : "nothing is changed"}.`,
    ifMatch !== ""
      ? `- \`If-Match\`: taken. The ${ifMatch} is changed only if it still has one of these revisions; else the answer is 412.`
      : changes
        ? "- `If-Match`: refused with 400."
        : "- `If-Match`: ignored.",
    ...(etag === ""
      ? []
      : [`- The answer has an \`ETag\`, the revision of the ${etag}. Send it as \`If-Match\` with an update or deletion.`]),
    ...(noStore ? ["- The answer may hold a secret, so it has `Cache-Control: no-store`."] : []),
  ].join("\n");

const errorTable = ({ errors: own, permissions }: ProcedureDoc): string => {
  const mayRefuse = permissions.some((text) => !text.startsWith("none"));
  const first = ["invalid_input", ...(mayRefuse ? (["insufficient_permissions"] as const) : [])] as const;
  const shown = [...first, ...own];
  const rows = shown.map((reason) => {
    const { cause, fix } = errorTexts[reason];
    return [
      errorLink(reason, errors),
      String(errorStatus(reason).http),
      code(grpcCode(reason)),
      cause,
      fix.replaceAll("](../reference/", "]("),
    ];
  });
  const others = reasonsOfEveryCall.filter((reason) => reason !== "invalid_input" && reason !== "insufficient_permissions");
  return [
    table(["Type", "Status", "gRPC code", "Cause", "What to do"], rows),
    `Like every procedure, it can also answer ${others.map((reason) => errorLink(reason, errors)).join(", ")}.`,
  ].join("\n\n");
};

/** The page of a procedure. */
export const procedurePage = (procedure: ProcedureDoc): string => {
  const { name, comment, method, arrayBody, crossRules, ignoresUnknown, isPaged } = procedure;
  const [first = "", ...rest] = comment.split(/(?<=[.])\s+(?=[A-Z])/);
  return page([
    `# ${name}`,
    first,
    rest.join(" "),
    `\`POST /v2/${name}\`, gRPC and Connect \`${method.parent.typeName}/${method.name}\`.`,
    "## Permissions",
    permissionText(procedure),
    "## Request",
    ...(arrayBody === ""
      ? []
      : [`The body is an array of 1 to 100 objects with these fields; over gRPC it is the field \`${arrayBody}\`.`]),
    requestTable(procedure),
    crossRules.length === 0
      ? ""
      : `Rules between fields, in the words of their violations:\n\n${crossRules.map((rule) => `- ${rule}`).join("\n")}`,
    procedure.request.length > 0 && ignoresUnknown ? "Unknown fields are ignored." : "",
    "## Headers",
    headerText(procedure),
    "## Answer",
    answerTable(procedure),
    isPaged
      ? "`pagination` next to `data` has `hasMore`, and `cursor` when there are more: send it as `cursor` for the next page, with the same other fields."
      : "",
    "## Errors",
    errorTable(procedure),
    "## Example",
    fence("sh", curl(procedure)),
    fence("sh", grpcurl(procedure)),
    fence("ts", typescript(procedure)),
  ]);
};
