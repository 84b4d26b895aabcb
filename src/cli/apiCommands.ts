import { systemSource } from "../audit/auditEvent.ts";
import { MOST_ENTRIES, parseIpAllowlist } from "../domain/ipAllowlist.ts";
import { type ApiUpdate, changeApi } from "../procedures/apis/changeApi.ts";
import { createApisRepository } from "../storage/apis.ts";
import { readArguments } from "./arguments.ts";
import { type Command, type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";

/** Changes an API as `apis.updateApi` does, and says what is so now. */
const update = (context: CommandContext, apiId: string, changes: ApiUpdate, done: string): Promise<ExitCode> =>
  withAnnouncingStore(context, async (store) => {
    const change = changeApi(changes, systemSource(store.clock));
    if ((await createApisRepository(store).modify(apiId, change)) === null) throw new Error(`the API ${apiId} does not exist`);
    await context.complain(done);
  });

const setIpAllowlist: Command = {
  name: "api set-ip-allowlist",
  usage: "API_ID LIST",
  summary: "Let only these addresses and networks (comma-separated) verify keys of an API; '' lifts the restriction.",
  run: (args, context) => {
    const { positionals } = readArguments(args, {}, "API_ID", "LIST");
    const [apiId = "", list = ""] = positionals;
    const parsed = parseIpAllowlist(list);
    if ("malformed" in parsed)
      throw new UsageError(`${JSON.stringify(parsed.malformed)} is neither an IP address nor a network like 10.0.0.0/8`);
    if ("tooMany" in parsed) throw new UsageError(`a list has at most ${MOST_ENTRIES} entries, not ${parsed.tooMany}`);
    const { entries } = parsed;
    return entries.length === 0
      ? update(context, apiId, { ipAllowlist: null }, `${apiId} may be verified from anywhere.`)
      : update(context, apiId, { ipAllowlist: entries }, `${apiId}: ${entries.join(", ")}`);
  },
};

const protect: Command = {
  name: "api protect",
  usage: "API_ID [--off]",
  summary: "Guard an API against apis.deleteApi; --off lifts it.",
  run: (args, context) => {
    const { positionals, values } = readArguments(args, { off: { type: "boolean" } }, "API_ID");
    const [apiId = ""] = positionals;
    const on = values.off !== true;
    const done = on ? `Protected API ${apiId} against deletion.` : `Lifted the deletion protection of API ${apiId}.`;
    return update(context, apiId, { deleteProtection: on }, done);
  },
};

/** Settings of APIs, as `apis.updateApi` changes them. */
export const apiCommands: readonly Command[] = [protect, setIpAllowlist];
