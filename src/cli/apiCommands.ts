import { auditEvent, resource, systemSource } from "../audit/auditEvent.ts";
import { parseIpAllowlist } from "../domain/ipAllowlist.ts";
import { createApisRepository } from "../storage/apis.ts";
import { readArguments } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";

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
    return withAnnouncingStore(context, async (store, announce) => {
      const source = systemSource(context.clock);
      const event = auditEvent(source, "api.update", `Set the IP allow list of API ${apiId}`, resource("api", apiId));
      const found = await createApisRepository(store, announce).setIpAllowlist(apiId, parsed.entries, source.now, [event]);
      if (!found) throw new Error(`the API ${apiId} does not exist`);
      context.complain(parsed.entries.length === 0 ? `${apiId} may be verified from anywhere.` : `${apiId}: ${parsed.entries.join(", ")}`);
    });
  },
};

/** Settings of APIs that no procedure changes. */
export const apiCommands: readonly Command[] = [setIpAllowlist];
