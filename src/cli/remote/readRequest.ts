import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { DescribedProcedure } from "../../platform/rpc/description/describeProcedures.ts";
import { isObject } from "../../platform/util/isObject.ts";
import { refusesRootKey } from "../arguments.ts";
import { type CommandContext, UsageError } from "../command.ts";
import { type ConfirmValues, confirmOptions } from "../confirm.ts";
import { type ConnectionValues, connectionOptions } from "./connection.ts";
import { type Flag, flagsOf, noneName, noneValue } from "./flags.ts";
import type { ProcedureCommand } from "./procedureCommands.ts";
import { readValue } from "./readValue.ts";

/** Options of every command that calls a procedure, beside its fields. */
const callOptions: Readonly<Record<string, { readonly type: "string" | "boolean" }>> = {
  ...connectionOptions,
  data: { type: "string" },
  json: { type: "boolean" },
  wide: { type: "boolean" },
  all: { type: "boolean" },
  "idempotency-key": { type: "string" },
  help: { type: "boolean" },
};

/** Options of a command that calls a procedure, in addition to its fields. */
export const optionsOf = ({ destroys }: Pick<ProcedureCommand, "destroys">): typeof callOptions =>
  destroys ? { ...callOptions, ...confirmOptions } : callOptions;

interface CallValues extends ConnectionValues, ConfirmValues {
  readonly data?: string;
  readonly json?: boolean;
  readonly wide?: boolean;
  readonly all?: boolean;
  readonly "idempotency-key"?: string;
  readonly help?: boolean;
}

/** The arguments of a command that calls a procedure, before any file or standard input is read. */
export interface Asked {
  readonly values: CallValues;
  readonly given: readonly Given[];
}

/** A call as the command line asks for it. */
export interface Request {
  /** The body: an object, or a list where the procedure takes one. */
  readonly body: object;
  /** What the body holds that must not be shown. */
  readonly secrets: readonly string[];
}

type Values = Record<string, string | boolean>;
type Json = Record<string, unknown>;

interface Given {
  readonly flag: Flag;
  /** Undefined: there is none. */
  readonly text: string | undefined;
}

const squeeze = (name: string): string => name.replaceAll("-", "").toLowerCase();

const unknownOption = (rawName: string, name: string, names: readonly string[], command: string): UsageError => {
  const refused = refusesRootKey(rawName);
  if (refused !== undefined) return refused;
  const meant = names.find((candidate) => squeeze(candidate) === squeeze(name));
  const hint = meant === undefined ? `latchkey help ${command} lists them` : `did you mean --${meant}?`;
  return new UsageError(`there is no option ${rawName}; ${hint}`);
};

/**
 * Splits arguments into options of every call and fields of this request. Throws a `UsageError`, which repeats no value: it may be
 * a secret.
 */
export const readOptions = (called: ProcedureCommand, args: readonly string[]): Asked => {
  const flags = flagsOf(called.procedure);
  const command = `${called.namespace} ${called.verb}`;
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const byNone = new Map(flags.flatMap((flag) => (noneName(flag) === undefined ? [] : [[noneName(flag) ?? "", flag] as const])));
  const isSwitch = ({ field }: Flag): boolean => field.kind === "boolean" && !field.isList;
  const options = {
    ...Object.fromEntries(flags.map((flag) => [flag.name, { type: isSwitch(flag) ? ("boolean" as const) : ("string" as const) }])),
    ...Object.fromEntries([...byNone.keys()].map((name) => [name, { type: "boolean" as const }])),
    ...optionsOf(called),
  };
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const values: Values = {};
  const given: Given[] = [];
  for (const [i, token] of tokens.entries()) {
    if (token.kind !== "option") {
      const before = tokens[i - 1];
      const flagBefore = before?.kind === "option" ? byName.get(before.name) : undefined;
      throw strayArgument(token.kind === "positional" ? token.value : undefined, flagBefore, command);
    }
    const { name, rawName, value, inlineValue } = token;
    const flag = byName.get(name);
    const none = byNone.get(name);
    const option = Object.hasOwn(options, name) ? options[name as keyof typeof options] : undefined;
    if (option === undefined) throw unknownOption(rawName, name, Object.keys(options), command);
    // Else an option that lacks its value would take the next one for it.
    if (option.type === "string" && (value === undefined || (!inlineValue && /^-[^\d]/.test(value)))) {
      throw new UsageError(`${rawName} has no value; one that begins with a dash is written ${rawName}=…`);
    }
    if (flag !== undefined) given.push({ flag, text: value ?? "true" });
    else if (value !== undefined && option.type === "boolean") throw new UsageError(`${rawName} takes no value`);
    else if (none !== undefined) given.push({ flag: none, text: undefined });
    else if (Object.hasOwn(values, name)) throw new UsageError(`${rawName} is given twice`);
    else values[name] = value ?? true;
  }
  return { values: values as CallValues, given };
};

/** Of a word that belongs to no option. Repeats it only where it says nothing but yes or no. */
const strayArgument = (word: string | undefined, flag: Flag | undefined, command: string): UsageError => {
  return flag !== undefined && (word === "true" || word === "false")
    ? new UsageError(`--${flag.name} stands for true without a value behind it; write --${flag.name}=${word}`)
    : new UsageError(`an argument without an option; write each value as --NAME VALUE: latchkey help ${command}`);
};

const exclusive = ({ name }: Flag): UsageError => new UsageError(`--${name} and --no-${name} exclude each other`);

/** Puts a value at its place, beside what is there. */
const put = (body: Json, { path, name }: Flag, value: unknown): void => {
  let holder = body;
  for (const part of path.slice(0, -1)) {
    if (!Object.hasOwn(holder, part)) holder[part] = {};
    const inner = holder[part];
    if (typeof inner !== "object" || inner === null)
      throw new UsageError(`--${name}: something else says that ${part} is ${String(inner)}`);
    holder = inner as Json;
  }
  holder[path.at(-1) ?? ""] = value;
};

const readText = (name: string, file: string): Promise<string> =>
  readFile(file, "utf8").catch((error: unknown) => {
    throw new UsageError(`${name}: ${file} cannot be read`, { cause: error });
  });

const readData = async (text: string, readInput: () => Promise<string>): Promise<{ json: unknown; isArgument: boolean }> => {
  const isArgument = text !== "-" && !text.startsWith("@");
  const source = isArgument ? text : text === "-" ? await readInput() : await readText("--data", text.slice(1));
  try {
    return { json: JSON.parse(source), isArgument };
  } catch {
    throw new UsageError('--data: not JSON; give a body such as \'{"apiId":"api_…"}\', @FILE, or - for standard input');
  }
};

const readSecret = async ({ name }: Flag, text: string, readInput: () => Promise<string>): Promise<string> => {
  if (text === "-") return (await readInput()).replace(/\r?\n$/, "");
  if (text.startsWith("@")) return (await readText(`--${name}`, text.slice(1))).replace(/\r?\n$/, "");
  throw new UsageError(
    `--${name}: a secret is not taken as an argument, which every user of this machine can see; write --${name} - and give it on standard input, or --${name} @FILE`,
  );
};

const readStart = async (
  data: string | undefined,
  { arrayBody }: DescribedProcedure,
  secrets: readonly Flag[],
  readInput: () => Promise<string>,
) => {
  if (data === undefined) return arrayBody === undefined ? {} : [];
  const { json, isArgument } = await readData(data, readInput);
  const fits = arrayBody === undefined ? isObject(json) : Array.isArray(json);
  if (!fits) throw new UsageError(`--data: want a JSON ${arrayBody === undefined ? "object" : "array"}`);
  const exposed = isArgument ? secrets.find(({ field }) => Object.hasOwn(json as object, field.name)) : undefined;
  if (exposed !== undefined) {
    throw new UsageError(
      `--data: "${exposed.field.name}" is a secret, and every user of this machine can see arguments; give the body on standard input with --data -, or as --data @FILE`,
    );
  }
  return json as object;
};

const itemsAt = (body: Json, { path }: Flag): readonly unknown[] | undefined =>
  path.reduce<unknown>((holder, part) => (holder as Json | undefined)?.[part], body) as readonly unknown[] | undefined;

/** Makes the body of a call. Throws `UsageError` for what makes no sense before the service is asked. */
export const readRequest = async (
  procedure: DescribedProcedure,
  { values, given }: Asked,
  { clock, readInput }: Pick<CommandContext, "clock" | "readInput">,
): Promise<Request> => {
  const flags = flagsOf(procedure);
  let wasRead = false;
  const readOnce = (): Promise<string> => {
    if (wasRead) throw new UsageError("standard input can be read for one option only");
    wasRead = true;
    return readInput();
  };
  const secretFlags = flags.filter(({ field }) => field.secret);
  const body = await readStart(values.data, procedure, secretFlags, readOnce);
  const now = clock.now();
  const seen = new Map<Flag, Given>();
  // Objects first: what is inside them is put beside the rest of them.
  for (const each of given.toSorted((a, b) => a.flag.path.length - b.flag.path.length)) {
    const { flag, text } = each;
    const before = seen.get(flag);
    if (before !== undefined && (before.text === undefined || text === undefined)) throw exclusive(flag);
    if (before !== undefined && !flag.field.isList) throw new UsageError(`--${flag.name} is given twice`);
    seen.set(flag, each);
    const value =
      text === undefined
        ? noneValue(flag)
        : flag.field.secret
          ? await readSecret(flag, text, readOnce)
          : readValue(flag.name, flag.field, text, now);
    if (!flag.field.isList || text === undefined) put(body as Json, flag, value);
    else if (flag.path.length === 0) (body as unknown[]).push(value);
    else {
      const items = before === undefined ? [] : (itemsAt(body as Json, flag) ?? []);
      put(body as Json, flag, [...items, value]);
    }
  }
  const secrets = secretFlags.flatMap(({ field }) => {
    const value = (body as Json)[field.name];
    return typeof value === "string" ? [value] : [];
  });
  return { body, secrets };
};
