import { formatTable, oneLine } from "../platform/util/table.ts";
import { type CommandContext, CommandFailure } from "./command.ts";

/** The option of every command that destroys something. */
export const confirmOptions = { yes: { type: "boolean" } } as const;

export interface ConfirmValues {
  readonly yes?: boolean | undefined;
}

/** A label and its value. */
export type Fact = readonly [label: string, value: string];

/** An object that a command is about to destroy, as far as its caller may read it. */
export interface Target {
  /** "API", "root key". */
  readonly kind: string;
  readonly id: string;
  /** Undefined: it has none, or the caller may not read it. */
  readonly name?: string | undefined;
  /** Label of its name; "name" unless given. */
  readonly nameLabel?: string | undefined;
  readonly facts: readonly Fact[];
}

/** @param unixMs undefined or 0: never. */
export const lastUse = (unixMs: number | undefined): Fact => ["last used", unixMs ? new Date(unixMs).toISOString() : "never"];

/**
 * Throws exit code 2 if the command would have to ask and there is no terminal. Call it before the command reads standard input,
 * opens a store or calls a service.
 */
export const requireConfirmable = ({ yes }: ConfirmValues, { ask }: Pick<CommandContext, "ask">): void => {
  if (yes !== true && ask === undefined)
    throw new CommandFailure(2, "nothing was done: there is no terminal to ask for confirmation; add --yes to go ahead without it");
};

/**
 * Shows what is about to be destroyed and asks for its name, or its id where it has no name. Ends the command with 2 for every
 * other answer. With --yes it asks nothing.
 * @param verb of the sentence "This deletes the API:".
 * @param find called only if there is a question. If it rejects, nothing is asked.
 */
export const confirm = async (
  verb: "deletes" | "erases" | "revokes",
  find: () => Promise<Target>,
  values: ConfirmValues,
  context: Pick<CommandContext, "ask" | "complain">,
): Promise<void> => {
  requireConfirmable(values, context);
  const { ask, complain } = context;
  if (values.yes === true || ask === undefined) return;
  const { kind, id, name, nameLabel = "name", facts } = await find();
  // A name of nothing but blanks would be confirmed by the Enter key.
  const shownName = oneLine(name ?? "").trim();
  const [label, wanted] = shownName === "" ? (["id", oneLine(id).trim()] as const) : ([nameLabel, shownName] as const);
  const rows: readonly Fact[] = [...(shownName === "" ? [] : [[nameLabel, shownName] as const]), ["id", id], ...facts];
  await complain(`This ${verb} the ${kind}:`);
  for (const line of formatTable(rows.map(([name, value]) => [`  ${name}`, oneLine(value)]))) await complain(line);
  const answer = await ask(`Type the ${label} to confirm: `);
  if (wanted === "" || answer?.trim() !== wanted) throw new CommandFailure(2, `nothing was done: that is not the ${label}`);
};
