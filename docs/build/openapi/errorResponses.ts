import { getOption } from "@bufbuild/protobuf";
import { problem_json, rate_limited_json } from "../../../gen/latchkey/v2/options_pb.ts";
import { type Reason, reasons } from "../../../src/platform/base/errors.ts";
import { errorStatus } from "../../../src/platform/http/errorStatus.ts";
import { type ProcedureDoc, reasonsOfEveryCall } from "../descriptors.ts";
import { headerRef } from "./headers.ts";
import { type JsonSchema, refTo } from "./jsonSchema.ts";

const json = "application/json";
const problem = "application/problem+json";
const statusesWithErrors: ReadonlySet<number> = new Set([400, 408, 413]);

/** Lists are only shorter for those who lack a permission, and some procedures need none. */
const refusesNobody = ({ permissions }: ProcedureDoc): boolean => permissions.every((text) => /^none\b|: only these are /.test(text));

/** A client that went away first sees no answer. */
const isSeen = (reason: Reason, procedure: ProcedureDoc): boolean =>
  reason !== "client_closed_request" && (reason !== "insufficient_permissions" || !refusesNobody(procedure));

/** Media types of errors (protocol §1): which of two it is depends on the header Accept. */
const mediaTypes = ({ method }: ProcedureDoc, status: number): string[] => {
  if (getOption(method, problem_json)) return [problem];
  if (status === 429) return [getOption(method, rate_limited_json) ? json : problem];
  return [json, problem];
};

const pascal = (text: string): string => text.replace(/(?:^|[\s_]+)(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Of a response in the document: by what is in it beside the reasons of every call. */
const nameOf = ({ method }: ProcedureDoc, title: string, own: readonly Reason[], isUsual: boolean): string => {
  const names = [...(isUsual ? [title] : []), ...own].map(pascal);
  const name = own.length > 2 ? `${pascal(title)}Of${method.name}` : names.join("Or");
  if (getOption(method, problem_json)) return `${name}AsProblem`;
  return title === "Too Many Requests" && getOption(method, rate_limited_json) ? `${name}AsJson` : name;
};

/** The schemas that errors have. */
export const errorSchemas: Readonly<Record<string, JsonSchema>> = {
  Error: {
    type: "object",
    description: "The answer to a call that failed.",
    properties: { meta: refTo("Meta"), error: refTo("ErrorDescription") },
    required: ["meta", "error"],
    examples: [
      {
        meta: { requestId: "req_5rLYyQvZ3mDk8HcJ" },
        error: {
          title: "Bad Request",
          detail: "The body of apis.createApi is not valid.",
          status: 400,
          type: `https://keys.example.com/docs/errors/${reasons.invalid_input.type}`,
          errors: [{ location: "body.name", message: "too short: got 2, want 3" }],
        },
      },
    ],
  },
  ErrorDescription: {
    type: "object",
    properties: {
      title: { type: "string", description: "Short name of the HTTP status." },
      detail: { type: "string", minLength: 1, description: "What went wrong, for people: it names the field, permission or object." },
      status: { type: "integer", description: "The HTTP status." },
      type: {
        type: "string",
        format: "uri",
        description: "Address of an explanation. Programs tell errors apart by what follows `/errors/`.",
      },
      errors: {
        type: "array",
        items: refTo("Violation"),
        description: "What is wrong with the request, one entry for each violation. Present with the statuses 400, 408 and 413 only.",
      },
    },
    required: ["title", "detail", "status", "type"],
  },
  Violation: {
    type: "object",
    properties: {
      location: {
        type: "string",
        description: "Where in the request: `body.credits.refill.amount`, `body[1].limit`, `header.Content-Type`.",
      },
      message: { type: "string", description: "What is wrong." },
      fix: { type: "string", description: "How to correct it." },
    },
    required: ["location", "message"],
  },
};

const headersOf = (status: number): object | undefined => {
  if (status === 401) return headerRef("WWW-Authenticate");
  return status === 429 ? headerRef("Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset") : undefined;
};

/** The responses of failures. */
export interface ErrorResponses {
  /** Status → reference, in ascending order. */
  readonly responsesOf: (procedure: ProcedureDoc) => Readonly<Record<string, JsonSchema>>;
  /** All that were referred to so far, by their names in the document. */
  readonly components: () => Readonly<Record<string, object>>;
}

export const createErrorResponses = (): ErrorResponses => {
  const components = new Map<string, object>();

  const responseOf = (procedure: ProcedureDoc, status: number, given: readonly Reason[]): JsonSchema => {
    const own = given.filter((reason) => !reasonsOfEveryCall.includes(reason));
    const { title } = errorStatus(given[0] as Reason);
    const types = given.map((reason) => reasons[reason].type);
    const error: JsonSchema = {
      properties: { status: { const: status }, title: { const: title }, type: { pattern: `/errors/(${types.join("|")})$` } },
      ...(statusesWithErrors.has(status) ? { required: ["errors"] } : { not: { required: ["errors"] } }),
    };
    const content = { schema: { ...refTo("Error"), properties: { error } } };
    const headers = headersOf(status);
    const response = {
      description: `${title}: ${types.map((type) => `\`${type}\``).join(", ")}.`,
      ...(headers && { headers }),
      content: Object.fromEntries(mediaTypes(procedure, status).map((type) => [type, content])),
    };
    const name = nameOf(procedure, title, own, own.length < given.length);
    const known = components.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(response)) {
      throw new Error(`${procedure.name}: another response is called ${name}`);
    }
    components.set(name, response);
    return { $ref: `#/components/responses/${name}` };
  };

  return {
    responsesOf: (procedure) => {
      const given = [...reasonsOfEveryCall, ...procedure.errors].filter((reason) => isSeen(reason, procedure));
      const byStatus = [...Map.groupBy(given, (reason) => errorStatus(reason).http)].sort(([a], [b]) => a - b);
      return Object.fromEntries(byStatus.map(([status, some]) => [status, responseOf(procedure, status, some)]));
    },
    components: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
};
