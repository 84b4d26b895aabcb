import { systemSource } from "../../features/audit/auditEvent.ts";
import { createNamespacesRepository } from "../../features/ratelimit/namespacesRepository.ts";
import { namespaceDeleted } from "../../features/ratelimit/procedures/shared/namespaceDeleted.ts";
import { readArguments } from "../arguments.ts";
import { type Command, CommandFailure } from "../command.ts";
import { withAnnouncingStore } from "../configuredStore.ts";
import { confirm, confirmOptions, type Fact, requireConfirmable } from "../confirm.ts";
import { namedService } from "../remote/callService.ts";
import { connectionOptions } from "../remote/connection.ts";
import { findTarget } from "../remote/findTarget.ts";

/** Analytics are the running service's. */
const checksFact: Fact = ["checks in the last 24 hours", "unknown: only a running service can tell (--url)"];

const remove: Command = {
  name: "namespace delete",
  usage: "ID_OR_NAME [--yes] [--url URL]",
  summary: "Delete a rate limit namespace for good: checks in it are answered with 410, and its name cannot be used again.",
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { ...connectionOptions, ...confirmOptions }, "ID_OR_NAME");
    const [idOrName = ""] = positionals;
    requireConfirmable(values, context);
    const service = await namedService(values, context);
    if (service !== undefined) {
      const request = { namespace: idOrName };
      const find = () => findTarget(service, "ratelimit.deleteNamespace", request, context.clock.now());
      await confirm("deletes", find, values, context);
      await service("ratelimit.deleteNamespace", request);
      await context.complain(`Deleted ${idOrName}.`);
      return 0;
    }
    return withAnnouncingStore(context, async (store) => {
      const namespaces = createNamespacesRepository(store);
      const found = await namespaces.find(idOrName);
      if (found === null) throw new CommandFailure(4, `the namespace ${idOrName} does not exist`);
      const gone = new CommandFailure(4, `the namespace ${idOrName} is deleted already`);
      if (found.deletedAt !== undefined) throw gone;
      const target = { kind: "namespace", id: found._id, name: found.name, facts: [checksFact] };
      await confirm("deletes", async () => target, values, context);
      const source = systemSource(store.clock);
      if (!(await namespaces.delete(found._id, source.now, [namespaceDeleted(source, found)]))) throw gone;
      await context.complain(`Deleted ${found._id}.`);
    });
  },
};

/** Rate limit namespaces. */
export const namespaceCommands: readonly Command[] = [remove];
