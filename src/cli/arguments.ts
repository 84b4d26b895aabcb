import { type ParseArgsConfig, parseArgs } from "node:util";
import { UsageError } from "./command.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<O extends Options> = ReturnType<typeof parseArgs<{ args: string[]; options: O; allowPositionals: true; strict: true }>>;

/** Names under which a root key might be given as an argument. */
const asksForRootKey = /^--(root-?key|token|api-?token|authorization)(=|$)/i;

/** Why an option that would hold a root key is refused; undefined for every other one. Does not repeat its value. */
export const refusesRootKey = (option: string): UsageError | undefined => {
  const [, name = ""] = asksForRootKey.exec(option) ?? [];
  if (name === "") return undefined;
  return new UsageError(
    `--${name}: a root key is not taken as an argument, which every user of this machine can see; set LATCHKEY_ROOT_KEY, or use --root-key-file FILE`,
  );
};

/** An argument that is not wanted, for the message: whole, unless it is a root key. */
const shown = (argument: string): string => JSON.stringify(argument.replace(/lkr_\w+/g, "lkr_…"));

/**
 * Splits arguments into options and exactly `positionals` other words, named for the message.
 * Throws `UsageError` for an unknown option, a missing value, or another number of words.
 */
export const readArguments = <O extends Options>(args: readonly string[], options: O, ...positionals: readonly string[]): Parsed<O> => {
  const parsed = parse(args, options);
  const extra = parsed.positionals[positionals.length];
  if (extra !== undefined) throw new UsageError(`unexpected argument ${shown(extra)}`);
  const missing = positionals[parsed.positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  return parsed;
};

const parse = <O extends Options>(args: readonly string[], options: O): Parsed<O> => {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    const refused = args.map(refusesRootKey).find((each) => each !== undefined);
    throw refused ?? new UsageError(error instanceof Error ? error.message : String(error));
  }
};
