import { Code } from "@connectrpc/connect";
import { type Reason, reasons } from "../../src/platform/base/errors.ts";
import { errorStatus } from "../../src/platform/http/errorStatus.ts";
import { procedures, reasonsOfEveryCall } from "./descriptors.ts";
import { errorTexts } from "./errorTexts.ts";
import { code, fence, page, table } from "./markdown.ts";

const everyReason = Object.keys(reasons) as Reason[];

/** `NOT_FOUND`, as gRPC spells its codes. */
export const grpcCode = (reason: Reason): string => Code[errorStatus(reason).code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

/** A link to an error's page. @param base where `docs/errors` is from the page. */
export const errorLink = (reason: Reason, base: string): string => {
  const { type } = reasons[reason];
  return `[${type.split("/").slice(-2).join("/")}](${base}/${type}.md)`;
};

const whereFrom = (reason: Reason, toReference: string): string => {
  if (reasonsOfEveryCall.includes(reason)) return "Every procedure can answer it.";
  const named = procedures.filter(({ errors }) => errors.includes(reason));
  if (named.length > 0) return named.map(({ name }) => `- [${name}](${toReference}/${name}.md)`).join("\n");
  return `It comes from ${errorTexts[reason].where ?? "nowhere yet"}.`;
};

const errorPage = (reason: Reason): string => {
  const { type } = reasons[reason];
  const { meaning, cause, fix } = errorTexts[reason];
  const { http, title } = errorStatus(reason);
  const up = "../".repeat(type.split("/").length);
  const moved = (text: string): string => text.replaceAll("](../", `](${up}`);
  return page([
    `# ${type.split("/").at(-1)}`,
    moved(meaning),
    table(["Type", "HTTP status", "gRPC and Connect code"], [[code(type), `${http} ${title}`, code(grpcCode(reason))]]),
    "## Cause",
    moved(cause),
    "## What to do",
    moved(fix),
    "## Procedures",
    whereFrom(reason, `${up}reference`),
    `All errors: [errors](${up}errors/README.md).`,
  ]);
};

const rowOf = (reason: Reason): string[] => [
  `[${reasons[reason].type}](${reasons[reason].type}.md)`,
  String(errorStatus(reason).http),
  code(grpcCode(reason)),
  errorTexts[reason].meaning,
];

const index = (): string => {
  const head = ["Type", "Status", "gRPC code", "Meaning"];
  const others = everyReason.filter((reason) => !reasonsOfEveryCall.includes(reason));
  return page([
    "# Errors",
    "Every error that Latchkey answers, with its cause and what to do.",
    "An error's `type` is the address of its page. Match on its last segments, such as `data/key_not_found`; titles and details are for people and may change. `meta.requestId` is what the operator finds in the log.",
    fence(
      "json",
      JSON.stringify(
        {
          meta: { requestId: "req_2VyTgb1pXkQmZr7NcHdE5wSa" },
          error: {
            title: "Not Found",
            detail: "The key does not exist or has been deleted.",
            status: 404,
            type: "https://keys.example.com/docs/errors/unkey/data/key_not_found",
          },
        },
        null,
        2,
      ),
    ),
    "400, 408, 413 and 499 also have `errors`: one entry for each violation, with `location`, `message` and mostly `fix`. Over gRPC and Connect the same facts are in a `latchkey.v2.ErrorDetail`.",
    "## Errors of every procedure",
    table(head, reasonsOfEveryCall.map(rowOf)),
    "## Errors of some procedures",
    table(head, others.map(rowOf)),
  ]);
};

/** The pages of `docs/errors`, by their path in it. */
export const errorPages = (): Map<string, string> =>
  new Map([["README.md", index()], ...everyReason.map((reason): [string, string] => [`${reasons[reason].type}.md`, errorPage(reason)])]);
