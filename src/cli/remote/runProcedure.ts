import { checkRequest } from "../../platform/rpc/description/checkRequest.ts";
import type { DescribedField } from "../../platform/rpc/description/describeField.ts";
import type { DescribedProcedure } from "../../platform/rpc/description/describeProcedures.ts";
import { isObject } from "../../platform/util/isObject.ts";
import { jsonLine } from "../../platform/util/table.ts";
import { type CommandContext, CommandFailure, type ExitCode, UsageError } from "../command.ts";
import { confirm, requireConfirmable, type Target } from "../confirm.ts";
import { type CallOptions, type CallService, openService, violationText } from "./callService.ts";
import { findTarget } from "./findTarget.ts";
import { flagsOf, placeNames } from "./flags.ts";
import { MOST_PAGES, pagesOf } from "./pages.ts";
import { presentObject, presentRows } from "./present.ts";
import type { ProcedureCommand } from "./procedureCommands.ts";
import { procedureHelp } from "./procedureHelp.ts";
import { type Asked, type Request, readOptions, readRequest } from "./readRequest.ts";

type Json = Readonly<Record<string, unknown>>;

/** The field of an answer that is false when the answer is no. */
const verdicts: Readonly<Record<string, string>> = {
  "keys.verifyKey": "valid",
  "ratelimit.limit": "success",
  "ratelimit.multiLimit": "passed",
  "audit.verifyChain": "intact",
};

const checkOptions = ({ procedure }: ProcedureCommand, { values }: Asked): void => {
  if (values.all && !procedure.isPaged) throw new UsageError("--all: the answer has no pages");
  const key = values["idempotency-key"];
  if (key === undefined) return;
  if (!procedure.changes) throw new UsageError("--idempotency-key: nothing is changed, so a repeat does no harm");
  if (!/^[\x20-\x7e]{1,255}$/.test(key)) throw new UsageError("--idempotency-key: want 1 to 255 printable ASCII characters");
};

/** Prints pages as they come: the tables of a long list need no more memory than a page. */
const printPages = async (
  call: CallService,
  { procedure }: ProcedureCommand,
  { values }: Asked,
  { body }: Request,
  options: CallOptions,
  context: CommandContext,
): Promise<void> => {
  const { all = false, json = false, wide = false } = values;
  let head: string | undefined;
  let count = 0;
  let more: string | undefined;
  for await (const { rows, cursor } of pagesOf(call, procedure.name, body, { ...options, most: all ? MOST_PAGES : 1 })) {
    count += rows.length;
    more = cursor;
    if (json && !all) await context.print(jsonLine(rows));
    else if (json) for (const row of rows) await context.print(jsonLine(row));
    else {
      const [first, ...others] = presentRows(rows, procedure.data.fields, wide);
      if (first !== undefined && first !== head) await context.print(first);
      head = first ?? head;
      for (const line of others) await context.print(line);
    }
  }
  if (!json) await context.complain(`${count} ${count === 1 ? "row" : "rows"}`);
  if (more !== undefined)
    await context.complain(`There is more: ${all ? "" : "--all follows all pages, "}--cursor ${more} goes on from here.`);
};

const secretIn = (fields: readonly DescribedField[], data: Json): DescribedField | undefined =>
  fields.find((field) => field.secret && typeof data[field.name] === "string");

const printAnswer = async ({ procedure }: ProcedureCommand, data: unknown, { values }: Asked, context: CommandContext): Promise<void> => {
  const { fields } = procedure.data;
  if (values.json) return context.print(jsonLine(data));
  const wide = values.wide === true;
  const lines = Array.isArray(data) ? presentRows(data, fields, wide) : isObject(data) ? presentObject(data, fields, wide) : [];
  for (const line of lines) await context.print(line);
  if (lines.length === 0) await context.complain(Array.isArray(data) ? "0 rows" : "Done.");
  const shown = isObject(data) ? secretIn(fields, data) : undefined;
  if (shown !== undefined && procedure.changes) await context.complain(`"${shown.name}" is shown only now.`);
};

/** Finds the object that a call deletes. Also rejects for a request that the service would refuse: the question comes last. */
const findChecked = async (
  call: CallService,
  { input, name }: DescribedProcedure,
  body: Json,
  nameOf: (location: string) => string,
  now: number,
): Promise<Target> => {
  const violations = checkRequest(input, body);
  if (violations.length > 0) throw new CommandFailure(2, violations.map((violation) => violationText(violation, nameOf)).join("; "));
  return findTarget(call, name, body, now);
};

/** Calls a procedure as the arguments ask for it and prints what it answers. */
export const runProcedure = async (command: ProcedureCommand, args: readonly string[], context: CommandContext): Promise<ExitCode> => {
  const { procedure, destroys } = command;
  const asked = readOptions(command, args);
  const { values } = asked;
  if (values.help) {
    await context.print(procedureHelp(command));
    return 0;
  }
  checkOptions(command, asked);
  if (destroys) requireConfirmable(values, context);
  const request = await readRequest(procedure, asked, context);
  const { body, secrets } = request;
  const call = await openService(values, context);
  const nameOf = placeNames(flagsOf(procedure));
  const options = { idempotencyKey: values["idempotency-key"], nameOf, secrets };
  if (destroys) {
    const fields = body as Json;
    const find = () => findChecked(call, procedure, fields, nameOf, context.clock.now());
    await confirm(fields.erase === true ? "erases" : "deletes", find, values, context);
  }
  if (procedure.isPaged) {
    await printPages(call, command, asked, request, options, context);
    return 0;
  }
  const { data, degraded } = await call(procedure.name, body, options);
  if (degraded.length > 0) await context.complain(`Answered without the store (${degraded.join(", ")}): from what the node remembers.`);
  await printAnswer(command, data, asked, context);
  const verdict = verdicts[procedure.name];
  return verdict !== undefined && isObject(data) && data[verdict] === false ? 8 : 0;
};
