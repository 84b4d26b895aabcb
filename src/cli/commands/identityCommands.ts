import { counted } from "../../platform/util/counted.ts";
import { readArguments } from "../arguments.ts";
import type { Command } from "../command.ts";
import { confirm, confirmOptions, requireConfirmable } from "../confirm.ts";
import { createProgressBar } from "../progressBar.ts";
import { openService } from "../remote/callService.ts";
import { connectionOptions } from "../remote/connection.ts";
import { findTarget } from "../remote/findTarget.ts";

/** As `identities.deleteIdentity` tells of an erasure. */
interface Erasure {
  readonly done: boolean;
  readonly keys: number;
  readonly entries: number;
  readonly events: number;
  readonly logPosition: number;
  readonly logEnd: number;
}

const erase: Command = {
  name: "identity erase",
  usage: "EXTERNAL_ID [--yes] [--url URL]",
  summary:
    "Delete an identity and erase the person on the running service: its external id and metadata, names and metadata of its keys, texts of the audit log that name it, its events of analytics. Keys go on working. Repeat it if it was interrupted.",
  run: async (args, context) => {
    const { positionals, values } = readArguments(args, { ...connectionOptions, ...confirmOptions }, "EXTERNAL_ID");
    const [identity = ""] = positionals;
    requireConfirmable(values, context);
    const service = await openService(values, context);
    const request = { identity, erase: true };
    const find = () => findTarget(service, "identities.deleteIdentity", request, context.clock.now());
    await confirm("erases", find, values, context);
    const bar = createProgressBar(context);
    try {
      for (;;) {
        const { data } = await service("identities.deleteIdentity", request);
        const { done, keys, entries, events, logPosition, logEnd } = (data as { readonly erasure: Erasure }).erasure;
        bar.reach(logPosition, logEnd);
        if (!done) continue;
        bar.end();
        const found = [counted(keys, "key"), `${counted(entries, "entry", "entries")} of the audit log`, counted(events, "verification")];
        await context.print(`${identity}: erased (${found.join(", ")})`);
        return 0;
      }
    } finally {
      bar.end();
    }
  },
};

/** Identities, beside their procedures. */
export const identityCommands: readonly Command[] = [erase];
