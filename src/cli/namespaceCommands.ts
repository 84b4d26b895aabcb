import { auditEvent, resource, systemSource } from "../audit/auditEvent.ts";
import { createNamespacesRepository } from "../storage/namespaces.ts";
import { readArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { withAnnouncingStore } from "./configuredStore.ts";

const remove: Command = {
  name: "namespace delete",
  usage: "ID_OR_NAME",
  summary: "Delete a rate limit namespace: its checks answer 410 from then on, and its name stays taken.",
  run: (args, context) => {
    const [idOrName = ""] = readArguments(args, {}, "ID_OR_NAME").positionals;
    return withAnnouncingStore(context, async (store) => {
      const namespaces = createNamespacesRepository(store);
      const found = await namespaces.find(idOrName);
      if (found === null) throw new Error(`the namespace ${idOrName} does not exist`);
      const source = systemSource(store.clock);
      const target = resource("ratelimitNamespace", found._id, found.name);
      const event = auditEvent(source, "ratelimitNamespace.delete", `Deleted namespace ${found.name}`, target);
      if (!(await namespaces.delete(found._id, source.now, [event]))) throw new Error(`the namespace ${idOrName} is deleted already`);
      await context.complain(`Deleted ${found._id}.`);
    });
  },
};

/** Settings of rate limit namespaces that no procedure changes. */
export const namespaceCommands: readonly Command[] = [remove];
