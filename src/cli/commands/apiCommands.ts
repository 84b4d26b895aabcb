import { createApisRepository } from "../../features/apis/apisRepository.ts";
import { type ApiUpdate, changeApi } from "../../features/apis/changeApi.ts";
import { systemSource } from "../../features/audit/auditEvent.ts";
import { MOST_ENTRIES, parseIpAllowlist } from "../../platform/base/ipAllowlist.ts";
import { readArguments } from "../arguments.ts";
import { type Command, type CommandContext, CommandFailure, type ExitCode, UsageError } from "../command.ts";
import { withAnnouncingStore } from "../configuredStore.ts";
import { namedService } from "../remote/callService.ts";
import { type ConnectionValues, connectionOptions } from "../remote/connection.ts";

/** Changes an API as `apis.updateApi` does, or by it, and says what is so now. */
const update = async (
  context: CommandContext,
  values: ConnectionValues,
  apiId: string,
  changes: ApiUpdate,
  done: string,
): Promise<ExitCode> => {
  const service = await namedService(values, context);
  if (service !== undefined) {
    await service("apis.updateApi", { apiId, ...changes });
    await context.complain(done);
    return 0;
  }
  return withAnnouncingStore(context, async (store) => {
    const change = changeApi(changes, systemSource(store.clock));
    if ((await createApisRepository(store).modify(apiId, change)) === null) throw new CommandFailure(4, `the API ${apiId} does not exist`);
    await context.complain(done);
  });
};

const setIpAllowlist: Command = {
  name: "api set-ip-allowlist",
  usage: "API_ID LIST [--url URL]",
  summary: "Allow only these addresses and networks (comma-separated) to verify keys of an API; '' removes the restriction.",
  run: (args, context) => {
    const { positionals, values } = readArguments(args, connectionOptions, "API_ID", "LIST");
    const [apiId = "", list = ""] = positionals;
    const parsed = parseIpAllowlist(list);
    if ("malformed" in parsed)
      throw new UsageError(`${JSON.stringify(parsed.malformed)} is neither an IP address nor a network like 10.0.0.0/8`);
    if ("tooMany" in parsed) throw new UsageError(`a list has at most ${MOST_ENTRIES} entries, not ${parsed.tooMany}`);
    const { entries } = parsed;
    return entries.length === 0
      ? update(context, values, apiId, { ipAllowlist: null }, `${apiId} may be verified from anywhere.`)
      : update(context, values, apiId, { ipAllowlist: entries }, `${apiId}: ${entries.join(", ")}`);
  },
};

const protect: Command = {
  name: "api protect",
  usage: "API_ID [--off] [--url URL]",
  summary: "Protect an API against deletion; --off removes the protection.",
  run: (args, context) => {
    const { positionals, values } = readArguments(args, { ...connectionOptions, off: { type: "boolean" } }, "API_ID");
    const [apiId = ""] = positionals;
    const on = values.off !== true;
    const done = on ? `Protected API ${apiId} against deletion.` : `Lifted the deletion protection of API ${apiId}.`;
    return update(context, values, apiId, { deleteProtection: on }, done);
  },
};

/** Settings of APIs, as `apis.updateApi` changes them. */
export const apiCommands: readonly Command[] = [protect, setIpAllowlist];
