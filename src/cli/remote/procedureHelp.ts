import type { FieldKind } from "../../platform/rpc/description/describeField.ts";
import { plainComment } from "../../platform/rpc/description/plainComment.ts";
import { type Flag, flagsOf, noneName } from "./flags.ts";
import { namespaces, type ProcedureCommand, procedureCommands } from "./procedureCommands.ts";

/** Of a comment: help for many shows no more. */
const firstSentence = (comment: string): string => /^.*?\.(?= |$)/.exec(comment)?.[0] ?? comment;

const plain = (comment: string): string => plainComment(comment).replaceAll("`", "");

const shownKinds = {
  text: "TEXT",
  integer: "NUMBER",
  time: "TIME",
  timestamp: "TIME",
  duration: "LENGTH",
  struct: "JSON",
  boolean: "true|false",
  enum: "",
};

const valueText = ({ field }: Flag): string => {
  if (field.secret) return " -|@FILE";
  if (field.kind === "object") return field.isList ? ` ${field.fields.map(({ name }) => `${name}=…`).join(",")}` : " JSON";
  if (field.kind === "boolean" && !field.isList) return "";
  return ` ${field.values.length > 0 ? field.values.join("|") : shownKinds[field.kind]}`;
};

const flagLines = (flag: Flag): string[] => {
  const none = noneName(flag);
  const parent = flag.name.split(".").slice(0, -1).join(".");
  const need = parent === "" ? "required" : `needed with --${parent}`;
  const marks = [...(flag.field.required ? [need] : []), ...(flag.field.isList ? ["may be repeated"] : [])];
  const head = `  --${flag.name}${valueText(flag)}${none === undefined ? "" : ` | --${none}`}${marks.length === 0 ? "" : `  (${marks.join(", ")})`}`;
  const texts = [plain(flag.field.comment), flag.field.default === "" ? "" : `Default ${flag.field.default}.`].filter(
    (text) => text !== "",
  );
  return [head, ...(texts.length === 0 ? [] : [`      ${texts.join(" ")}`])];
};

const hasKind = (flags: readonly Flag[], kind: FieldKind): boolean =>
  flags.some(({ field }) => field.kind === kind || (field.isList && field.fields.some((inner) => inner.kind === kind)));

/** How values may be written beside what the interface says of them. */
const formsOf = (flags: readonly Flag[]): string[] => [
  ...(hasKind(flags, "time") || hasKind(flags, "timestamp")
    ? ["  A time is Unix milliseconds, now, 30d (from now), -7d (before now), 2030-12-31 or 2030-12-31T12:00:00Z."]
    : []),
  ...(hasKind(flags, "duration") ? ["  A length is milliseconds, or 500ms, 30s, 5m, 12h, 30d, 4w."] : []),
  ...(flags.some(noneName) ? ["  --no-… says that there is none: null, an empty list, or false. What is left out is not sent."] : []),
];

/** The options of every command that calls the service. */
export const commonOptions: readonly string[] = [
  "  --url URL               the service; else LATCHKEY_URL, else the one of this configuration on this machine",
  "  --root-key-file FILE    holds the root key; else LATCHKEY_ROOT_KEY, else DATA_DIR/root-key for a service on this machine",
  "  --plain-http            lets the root key go to another machine over http",
  "  --timeout SECONDS       how long to wait for each answer (65)",
];

const procedureOptions: readonly string[] = [
  "  --data JSON|@FILE|-     the body as JSON, from the argument, a file or standard input; other options are put into it",
  "  --json                  print data as JSON in one line",
  "  --wide                  cut no value in tables",
];

/** `latchkey help keys create-key` */
export const procedureHelp = ({ namespace, verb, destroys, procedure }: ProcedureCommand): string => {
  const flags = flagsOf(procedure);
  return [
    `latchkey ${namespace} ${verb} [options]`,
    "",
    plain(procedure.comment),
    ...procedure.permissions.map((permission, i) => `${i === 0 ? "Needs" : "  and"} ${permission}`),
    "",
    ...(flags.length === 0 ? [] : ["Options", ...flags.flatMap(flagLines), ...formsOf(flags), ""]),
    `For each call (the procedure is ${procedure.name})`,
    ...procedureOptions,
    ...(procedure.isPaged ? ["  --all                   follow all pages; with --json one object a line"] : []),
    ...(procedure.changes ? ["  --idempotency-key KEY   a repeat with the same key and body does nothing again"] : []),
    ...(destroys ? ["  --yes                   do not ask for confirmation; needed where there is no terminal"] : []),
    ...commonOptions,
  ].join("\n");
};

/** What `latchkey help keys` says of procedures; nothing when that is no namespace. */
export const namespaceHelp = (name: string): string[] =>
  procedureCommands
    .filter(({ namespace }) => namespace === name)
    .flatMap(({ verb, procedure }) => [`  latchkey ${name} ${verb}`, `      ${firstSentence(plain(procedure.comment))}`]);

/** What `latchkey help` says of procedures: a line for each namespace. */
export const procedureLines = (): string[] =>
  namespaces.map((name) => {
    const verbs = procedureCommands.filter(({ namespace }) => namespace === name).map(({ verb }) => verb);
    return `  latchkey ${name} ${verbs.join("|")}`;
  });
