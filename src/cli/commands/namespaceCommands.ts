import { systemSource } from "../../audit/auditEvent.ts";
import { namespaceDeleted } from "../../procedures/shared/ratelimit/namespaceDeleted.ts";
import { createNamespacesRepository } from "../../storage/repositories/namespacesRepository.ts";
import { readArguments } from "../arguments.ts";
import { type Command, CommandFailure } from "../command.ts";
import { withAnnouncingStore } from "../configuredStore.ts";
import { namedService } from "../remote/callService.ts";
import { connectionOptions } from "../remote/connection.ts";

const remove: Command = {
  name: "namespace delete",
  usage: "ID_OR_NAME [--url URL]",
  summary: "Delete a rate limit namespace for good: checks in it are answered with 410, and its name cannot be used again.",
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, connectionOptions, "ID_OR_NAME");
    const [idOrName = ""] = positionals;
    const service = await namedService(values, context);
    if (service !== undefined) {
      await service("ratelimit.deleteNamespace", { namespace: idOrName });
      await context.complain(`Deleted ${idOrName}.`);
      return 0;
    }
    return withAnnouncingStore(context, async (store) => {
      const namespaces = createNamespacesRepository(store);
      const found = await namespaces.find(idOrName);
      if (found === null) throw new CommandFailure(4, `the namespace ${idOrName} does not exist`);
      const source = systemSource(store.clock);
      const removed = await namespaces.delete(found._id, source.now, [namespaceDeleted(source, found)]);
      if (!removed) throw new CommandFailure(4, `the namespace ${idOrName} is deleted already`);
      await context.complain(`Deleted ${found._id}.`);
    });
  },
};

/** Rate limit namespaces. */
export const namespaceCommands: readonly Command[] = [remove];
