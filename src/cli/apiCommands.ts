import { auditEvent, resource, systemSource } from "../audit/auditEvent.ts";
import { parseIpAllowlist } from "../domain/ipAllowlist.ts";
import { type ApisRepository, createApisRepository } from "../storage/apis.ts";
import type { ApiDocument } from "../storage/documents.ts";
import { readArguments } from "./arguments.ts";
import { type Command, UsageError } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";

const apiNotFound = (apiId: string): Error => new Error(`the API ${apiId} does not exist`);

const findApi = async (apis: ApisRepository, apiId: string): Promise<ApiDocument> => {
  const api = await apis.find(apiId);
  if (api === null) throw apiNotFound(apiId);
  return api;
};

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
    return withAnnouncingStore(context, async (store) => {
      const apis = createApisRepository(store);
      const api = await findApi(apis, apiId);
      const source = systemSource(store.clock);
      const event = auditEvent(source, "api.update", `Set the IP allow list of API ${apiId}`, resource("api", apiId, api.name));
      // What is so already is no change, and leaves no event (protocol §11).
      const isSame = (api.ipAllowlist ?? []).join() === parsed.entries.join();
      if (!isSame && !(await apis.setIpAllowlist(apiId, parsed.entries, source.now, [event]))) throw apiNotFound(apiId);
      await context.complain(
        parsed.entries.length === 0 ? `${apiId} may be verified from anywhere.` : `${apiId}: ${parsed.entries.join(", ")}`,
      );
    });
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
    return withAnnouncingStore(context, async (store) => {
      const apis = createApisRepository(store);
      const api = await findApi(apis, apiId);
      const source = systemSource(store.clock);
      const display = on ? `Protected API ${apiId} against deletion` : `Lifted the deletion protection of API ${apiId}`;
      const event = auditEvent(source, "api.update", display, resource("api", apiId, api.name));
      if ((api.protected ?? false) !== on && !(await apis.protect(apiId, on, source.now, [event]))) throw apiNotFound(apiId);
      await context.complain(`${display}.`);
    });
  },
};

/** Settings of APIs that no procedure changes. */
export const apiCommands: readonly Command[] = [protect, setIpAllowlist];
