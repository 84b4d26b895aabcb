import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, type ExitCode, UsageError } from "../command.ts";
import { connectionOptions } from "./connection.ts";
import { type Flag, flagsOf, noneName } from "./flags.ts";
import { findProcedure, namespaces, procedureCommands } from "./procedureCommands.ts";
import { optionsOf } from "./readRequest.ts";

/** Both scripts ask the program, so that they know what it knows. Files are completed where it has nothing to say. */
const scripts: Readonly<Record<string, string>> = {
  bash: `# Completion of latchkey: source <(latchkey completion bash)
_latchkey() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" completion words -- "$COMP_CWORD" "\${COMP_WORDS[@]:1}" 2>/dev/null))
}
complete -o default -F _latchkey latchkey`,
  zsh: `#compdef latchkey
# Completion of latchkey: source <(latchkey completion zsh), or this as the file _latchkey in a directory of $fpath
_latchkey() {
  local -a found
  found=("\${(@f)$("\${words[1]}" completion words -- $((CURRENT - 1)) "\${(@)words[2,-1]}" 2>/dev/null)}")
  if [[ -n \${found[1]} ]]; then compadd -- "\${found[@]}"; else _files; fi
}
if [[ \${funcstack[1]} == _latchkey ]]; then _latchkey "$@"; else compdef _latchkey latchkey; fi`,
};

const byThemselves = ["help", "completion", "--version"];

const withDashes = (names: readonly (string | undefined)[]): string[] => names.flatMap((name) => (name === undefined ? [] : [`--${name}`]));

const flagNames = (flags: readonly Flag[]): string[] => withDashes(flags.flatMap((flag) => [flag.name, noneName(flag)]));

/** What may stand at the end of `words`, whose last one is only begun. */
const candidates = (words: readonly string[], commands: readonly Command[]): readonly string[] => {
  // A shell may take `--kind=v` apart.
  const parts = words.filter((word, i) => word !== "=" || i === words.length - 1);
  const [before, begun] = [parts.at(-2) ?? "", parts.at(-1) ?? ""];
  if (words[0] === "help" && words.length > 1)
    return candidates(words.slice(1), commands).filter((word) => !word.startsWith("-") && word !== "help");
  const ownWords = commands.map(({ name }) => name.split(" "));
  if (words.length === 1) return [...ownWords.map(([first = ""]) => first), ...namespaces, ...byThemselves];
  if (words[0] === "completion") return words.length === 2 ? Object.keys(scripts) : [];
  const procedure = findProcedure(words.slice(0, -1));
  if (procedure !== undefined) {
    const flags = flagsOf(procedure.found.procedure);
    const values = flags.find(({ name }) => before === `--${name}`)?.field.values ?? [];
    if (values.length > 0) return values;
    return begun.startsWith("-") ? [...flagNames(flags), ...withDashes(Object.keys(optionsOf(procedure.found)))] : [];
  }
  const own = commands.find(({ name }) => name.split(" ").every((word, i) => i < words.length - 1 && words[i] === word));
  if (own !== undefined) {
    const options: readonly string[] = own.usage.match(/--[a-z-]+/g) ?? [];
    return begun.startsWith("-") ? [...options, ...(options.includes("--url") ? withDashes(Object.keys(connectionOptions)) : [])] : [];
  }
  if (words.length !== 2) return [];
  const verbs = procedureCommands.filter(({ namespace }) => namespace === words[0]).map(({ verb }) => verb);
  return [...ownWords.flatMap(([first, second]) => (first === words[0] && second !== undefined ? [second] : [])), ...verbs];
};

/** `latchkey completion bash`; the scripts call `latchkey completion words -- INDEX WORD …`. @param commands those with files of their own. */
export const complete = async (args: readonly string[], context: CommandContext, commands: readonly Command[]): Promise<ExitCode> => {
  if (args[0] === "words") {
    const [index = "", ...words] = args.slice(args[1] === "--" ? 2 : 1);
    const upToCursor = words.slice(0, Number(index));
    const begun = upToCursor.at(-1) === "=" ? "" : (upToCursor.at(-1) ?? "");
    const all = candidates(upToCursor.length < Number(index) ? [...upToCursor, ""] : upToCursor, commands);
    for (const word of [...new Set(all)].filter((each) => each.startsWith(begun)).sort()) await context.print(word);
    return 0;
  }
  const [shell = ""] = readArguments(args, {}, "bash|zsh").positionals;
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) throw new UsageError(`completion: want one of ${Object.keys(scripts).join(", ")}`);
  await context.print(script);
  return 0;
};
