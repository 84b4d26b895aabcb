import { VerificationCodeSchema } from "../../gen/latchkey/v2/keys_pb.ts";
import { exitCodes } from "../../src/cli/command.ts";
import { ownCommands } from "../../src/cli/ownCommands.ts";
import { procedureCommands } from "../../src/cli/remote/procedureCommands.ts";
import { commonOptions } from "../../src/cli/remote/procedureHelp.ts";
import { allPermissions, parsePermission } from "../../src/platform/authorization/authorization.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { createWorkerMetrics } from "../../src/platform/telemetry/workerMetrics.ts";
import { auditEventTexts } from "./auditEventTexts.ts";
import { commentOn, procedures } from "./descriptors.ts";
import { labelTexts } from "./labelTexts.ts";
import { code, fence, page, table } from "./markdown.ts";
import { settingsPage } from "./settingsPage.ts";

const verificationCodes = (): string => {
  const rows = VerificationCodeSchema.values.flatMap((value) => {
    const comment = commentOn(`${VerificationCodeSchema.typeName}.${value.name}`);
    const [, means = "", act = ""] = /^(.*?)\.? ((?:Refuse|Serve|serve)\b.*)$/s.exec(comment.replace(": serve", ". Serve")) ?? [];
    const name = value.name.replace("VERIFICATION_CODE_", "");
    return value.number === 0 ? [] : [[code(name), `${means}.`, act]];
  });
  return page([
    "# Verification codes",
    "The `code` in the answer of `keys.verifyKey`, and what to do about each.",
    "Every outcome is an answer with HTTP status 200; read `valid` and `code`. The checks run in the order NOT_FOUND, DISABLED, EXPIRED, FORBIDDEN, INSUFFICIENT_PERMISSIONS, RATE_LIMITED, USAGE_EXCEEDED; the first that fails decides. Only a verification that is VALID spends credits, and only one that gets as far as the credits uses rate limits.",
    table(["Code", "Meaning", "What to do"], rows),
    "[keys.explain](keys.explain.md) shows for one key which check fails and which change would make it pass.",
  ]);
};

/** `api.{api_id}.read_key`, wherever a text names it, as the action that it asks for: `api.read_key`. */
const actionsIn = (text: string): string[] =>
  [...text.matchAll(/\b([a-z_]+)\.(?:\{[^}]*\}|\*)\.([a-z_]+)\b/g)].map(([, type, action]) => `${type}.${action}`);

const permissions = (): string => {
  const texts = procedures.flatMap((procedure) => procedure.permissions);
  const asking = (action: string): string =>
    procedures
      .flatMap(({ name, permissions }) => {
        const found = permissions.find((text) => actionsIn(text).includes(action));
        const condition = / (when [^,:]+)$/.exec(found ?? "")?.[1];
        return found === undefined ? [] : [`[${name}](${name}.md)${condition === undefined ? "" : ` (${condition})`}`];
      })
      .join(", ");
  const singleId = (type: string, action: string): string => {
    if (parsePermission(`${type}.id_1.${action}`) === undefined) return "no, `*` only";
    const isAsked = texts.some((text) => new RegExp(`\\b${type}\\.\\{[^}]*\\}\\.${action}\\b`).test(text));
    const isAskedForAll = texts.some((text) => text.includes(`${type}.*.${action}`));
    return isAskedForAll && !isAsked ? "accepted, but only `*` counts" : `id of the ${idOf[type] ?? type}`;
  };
  const types = [...new Set(allPermissions.map((triple) => triple.split(".", 1)[0] ?? ""))];
  const idOf: Readonly<Record<string, string>> = { api: "API", ratelimit: "namespace", identity: "identity", root_key: "root key" };
  return page([
    "# Root-key permissions",
    "The permissions of root keys, and the procedures that need them.",
    "A permission is `<type>.<id>.<action>`. `*` instead of the id covers every object; the id of an object covers only that object. No action implies another. A root key that was created without a list of permissions holds all of them, also those of later versions.",
    ...types.flatMap((type) => [
      `## ${type}`,
      table(
        ["Permission", "For a single id", "Needed by"],
        allPermissions
          .filter((triple) => triple.startsWith(`${type}.`))
          .map((triple) => {
            const [, , action = ""] = triple.split(".");
            const single = singleId(type, action);
            const by = asking(`${type}.${action}`);
            const others = type === "console" ? "[the console](../console.md)" : "nothing yet: it can be granted for compatibility";
            return [code(triple), single, by === "" ? others : by];
          }),
      ),
    ]),
    "Root keys are created with [rootKeys.createKey](rootKeys.createKey.md), and changed with [rootKeys.updateKey](rootKeys.updateKey.md). A caller cannot grant more than it holds.",
  ]);
};

const unitOf = (name: string): string => {
  if (/_seconds(?:_total)?$/.test(name)) return "seconds";
  if (/_bytes$/.test(name)) return "bytes";
  return name.endsWith("_info") || name.endsWith("_up") || name.endsWith("_down") ? "–" : "count";
};

const metrics = (): string => {
  const { families: ofNode } = createMetrics({ version: "0", engine: "embedded", ratelimitStoreDown: "allow" });
  const families = [...ofNode, ...createWorkerMetrics(1).heads];
  const labels = [...new Set(families.flatMap(({ labels: own = [] }) => own))];
  return page([
    "# Metrics",
    "The metrics of `GET /metrics` on the admin port, in Prometheus' text format.",
    table(
      ["Metric", "Type", "Labels", "Unit", "Meaning"],
      families.map(({ name, type, labels: own = [], help }) => [code(name), type, own.map(code).join(", "), unitOf(name), help]),
    ),
    "A histogram has the series `…_bucket`, `…_sum` and `…_count`. prom-client adds measurements of the process: `process_…` and `nodejs_…`.",
    "## Labels",
    table(
      ["Label", "Values"],
      labels.map((label) => [code(label), labelTexts[label] ?? fail(`docs/build/labelTexts.ts has no text for the label ${label}`)]),
    ),
  ]);
};

const fail = (message: string): never => {
  throw new Error(message);
};

const auditEvents = (): string =>
  page([
    "# Audit events",
    "The events of the audit log: when each is written, and its resources.",
    "A change and its event are one write. Reads, verifications and refused calls write no event, with the exceptions below. [audit.getLogs](audit.getLogs.md) lists the log, [audit.verifyChain](audit.verifyChain.md) checks it.",
    table(
      ["Event", "When", "Resources", "`meta.changes`"],
      Object.entries(auditEventTexts).map(([name, { when, resources, changes }]) => [
        code(name),
        when,
        resources.map(code).join(", ") || "–",
        changes ? "yes" : "–",
      ]),
    ),
    "Every event has in `meta` its place in the chain: `sequence`, `hash` and `previousHash`. `meta.changes` lists the fields that an update changed, each with `before` and `after`; if one write has several events, one of them has the list. The events of one call share their `correlationId`.",
  ]);

const commandLine = (): string =>
  page([
    "# Command line",
    "Every command of `latchkey`, with its options and exit codes.",
    "In a checkout it is `npm run --silent latchkey -- <command>`, in the image `latchkey <command>`. `latchkey help <command>` says the same at a terminal.",
    "## Commands",
    table(
      ["Command", "What it does"],
      ownCommands.map(({ name, usage, summary }) => [code(`latchkey ${name} ${usage}`.trimEnd()), summary]),
    ),
    "`TIME` is a duration from now (`90m`, `12h`, `30d`, `4w`) or an ISO date or time. `PERMISSION` is one of the [root-key permissions](root-key-permissions.md).",
    "## Procedures",
    "Every procedure of a running service is a command. The options are the fields of its request.",
    table(
      ["Command", "Procedure"],
      procedureCommands.map(({ namespace, verb, procedure }) => [
        code(`latchkey ${namespace} ${verb}`),
        `[${procedure.name}](${procedure.name}.md)`,
      ]),
    ),
    "Options of all of them:",
    fence("text", commonOptions.map((line) => line.trim()).join("\n")),
    "## Exit codes",
    table(["Code", "Meaning"], Object.entries(exitCodes)),
  ]);

/** The pages of tables, by their path in `docs/reference`. */
export const cataloguePages = (): Map<string, string> =>
  new Map([
    ["verification-codes.md", verificationCodes()],
    ["root-key-permissions.md", permissions()],
    ["metrics.md", metrics()],
    ["audit-events.md", auditEvents()],
    ["settings.md", settingsPage()],
    ["command-line.md", commandLine()],
  ]);
