import { commentOn, procedures } from "./descriptors.ts";
import { page, table } from "./markdown.ts";
import { procedurePage } from "./procedurePage.ts";

const firstSentence = (comment: string): string => /^.*?\.(?= |$)/.exec(comment)?.[0] ?? comment;

const index = (): string => {
  const namespaces = [...new Set(procedures.map(({ namespace }) => namespace))];
  return page([
    "# Reference",
    "Every procedure, error, permission, code, metric, audit event and setting of Latchkey, generated from its source.",
    "A procedure is called with `POST /v2/<namespace>.<procedure>`, a root key in `Authorization: Bearer …`, and its parameters as JSON in the body. The same procedures are methods over gRPC, gRPC-Web and Connect. Times are Unix milliseconds in UTC, durations are milliseconds, integers are at most 2^53-1, and lengths of text count Unicode code points.",
    table(
      ["Page", "What it lists"],
      [
        ["[Errors](../errors/README.md)", "every error type, with its cause and what to do"],
        ["[Verification codes](verification-codes.md)", "how a verification can end, and what to do then"],
        ["[Root-key permissions](root-key-permissions.md)", "what a root key can be permitted to do"],
        ["[Audit events](audit-events.md)", "what the audit log tells"],
        ["[Metrics](metrics.md)", "what `/metrics` on the admin port shows"],
        ["[Settings](settings.md)", "every environment variable"],
        ["[Command line](command-line.md)", "every command of `latchkey`"],
      ],
    ),
    ...namespaces.flatMap((namespace) => {
      const own = procedures.filter((procedure) => procedure.namespace === namespace);
      const service = own[0]?.method.parent.typeName ?? "";
      return [
        `## ${namespace}`,
        commentOn(service),
        table(
          ["Procedure", "What it does"],
          own.map(({ name, comment }) => [`[${name}](${name}.md)`, firstSentence(comment)]),
        ),
      ];
    }),
  ]);
};

/** The index and the pages of all procedures, by their path in `docs/reference`. */
export const referencePages = (): Map<string, string> =>
  new Map([["README.md", index()], ...procedures.map((procedure): [string, string] => [`${procedure.name}.md`, procedurePage(procedure)])]);
