import type { Violation } from "../../platform/base/errors.ts";
import { version } from "../../platform/config/version.ts";
import { isObject } from "../../platform/util/isObject.ts";
import { oneLine } from "../../platform/util/table.ts";
import { type CommandContext, CommandFailure, type ExitCode } from "../command.ts";
import { type Connection, type ConnectionValues, namesService, openConnection } from "./connection.ts";

export interface Answer {
  readonly data: unknown;
  /** Of a page: leads to the next one; undefined on the last. */
  readonly cursor: string | undefined;
  /** What the service could not confirm with its store; empty as a rule. */
  readonly degraded: readonly string[];
}

export interface CallOptions {
  /** Makes a repeat harmless. */
  readonly idempotencyKey?: string | undefined;
  /** What the user calls a place in the request such as `body.apiId`. */
  readonly nameOf?: ((location: string) => string) | undefined;
  /** Beside the root key, what must not be shown whatever the service answers. */
  readonly secrets?: readonly string[] | undefined;
}

/**
 * Calls a procedure of a running service. Rejects with `CommandFailure`, one sentence and the exit code for it, for every other
 * answer than a success.
 */
export type CallService = (procedure: string, body: unknown, options?: CallOptions) => Promise<Answer>;

interface Body {
  readonly meta?: { readonly requestId?: string; readonly degraded?: readonly string[] };
  readonly data?: unknown;
  readonly pagination?: { readonly hasMore?: boolean; readonly cursor?: string };
  readonly error?: { readonly detail?: string; readonly errors?: readonly Violation[] };
}

const byStatus: Readonly<Record<number, ExitCode>> = {
  ...{ 400: 2, 405: 2, 413: 2, 422: 2, 401: 3, 403: 3, 404: 4, 410: 4, 409: 5, 412: 5, 429: 6 },
  ...{ 408: 7, 502: 7, 503: 7, 504: 7 },
};

/** What is wrong at a place of the request, for people. @param nameOf what the user calls that place */
export const violationText = ({ location, message, fix }: Violation, nameOf: (location: string) => string): string =>
  message.startsWith("missing property")
    ? `${nameOf(location)} is missing`
    : `${nameOf(location)}: ${message}${fix === undefined ? "" : ` (${fix})`}`;

/** What to do about it, where that is not in the answer. */
const mend = (response: Response, { meta }: Body, { keySource }: Connection): string => {
  if (response.status === 401) return ` (the root key is that of ${keySource})`;
  const seconds = response.headers.get("retry-after");
  if (response.status === 429 && seconds !== null) return ` Try again in ${seconds} s.`;
  return response.status >= 500 && meta?.requestId !== undefined ? ` (${meta.requestId})` : "";
};

/** Certificates: the one failure that has another mend than waiting. */
const isDistrust = (code: unknown): boolean => typeof code === "string" && /CERT|SELF_SIGNED|LEAF_SIGNATURE|ALTNAME/.test(code);

const unreachable = (error: unknown, { url, timeoutMs }: Connection): CommandFailure => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (error instanceof Error && error.name === "TimeoutError") {
    return new CommandFailure(
      7,
      `no answer from ${url} within ${timeoutMs / 1_000} s; a change may have been made all the same (--idempotency-key makes a repeat harmless)`,
    );
  }
  if (cause instanceof Error && "code" in cause && isDistrust(cause.code)) {
    return new CommandFailure(7, `the certificate of ${url} is not trusted; name a PEM file of its authority in NODE_EXTRA_CA_CERTS`, {
      cause,
    });
  }
  return new CommandFailure(7, `no service answers at ${url}`, { cause });
};

const isError = (error: unknown): boolean =>
  isObject(error) &&
  "detail" in error &&
  typeof error.detail === "string" &&
  (!("errors" in error) || (Array.isArray(error.errors) && error.errors.every((each) => isObject(each) && "message" in each)));

/** The answer as JSON; undefined for what no Latchkey sends. */
const readBody = async (response: Response, connection: Connection): Promise<Body | undefined> => {
  const json: unknown = await response.json().catch((error: unknown) => {
    if (error instanceof SyntaxError) return undefined;
    throw unreachable(error, connection);
  });
  return isObject(json) && ("data" in json || ("error" in json && isError(json.error))) ? (json as Body) : undefined;
};

const createCaller = (connection: Connection): CallService => {
  const { url, rootKey, timeoutMs } = connection;
  return async (procedure, body, { idempotencyKey, nameOf = (location: string) => location, secrets = [] }: CallOptions = {}) => {
    /** Whoever answers may repeat what it was sent. */
    const safe = (text: string): string =>
      oneLine([rootKey, ...secrets].reduce((shown, secret) => (secret === "" ? shown : shown.replaceAll(secret, "***")), text));
    const response = await fetch(`${url}/v2/${procedure}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${rootKey}`,
        "content-type": "application/json",
        "user-agent": `latchkey/${version}`,
        ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
      },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: unknown) => {
      throw unreachable(error, connection);
    });
    const { status } = response;
    if (status >= 300 && status < 400) {
      const target = safe(response.headers.get("location") ?? "elsewhere");
      throw new CommandFailure(
        1,
        `${url} redirects to ${target}, where the root key is not sent; name the service's own address with --url`,
      );
    }
    const answer = await readBody(response, connection);
    if (answer === undefined) {
      // Not what the status says of Latchkey's objects: a proxy's 404 is no key that does not exist.
      const code = status >= 500 ? 7 : 1;
      throw new CommandFailure(code, `${url} answered ${status}, but not as Latchkey does: is it the address of the service?`);
    }
    if (response.ok) {
      const { hasMore, cursor } = answer.pagination ?? {};
      return {
        data: answer.data,
        cursor: hasMore === true ? cursor : undefined,
        degraded: Array.isArray(answer.meta?.degraded) ? answer.meta.degraded : [],
      };
    }
    const { detail = `the service answered ${status}`, errors = [] } = answer.error ?? {};
    const known = errors.length === 0 ? detail : errors.map((violation) => violationText(violation, nameOf)).join("; ");
    throw new CommandFailure(byStatus[status] ?? 1, safe(`${known}${mend(response, answer, connection)}`));
  };
};

/** The service that the options, the environment or the configuration name. */
export const openService = async (values: ConnectionValues, { env }: Pick<CommandContext, "env">): Promise<CallService> =>
  createCaller(await openConnection(values, env));

/** The same for commands that work on the configured store when neither --url nor LATCHKEY_URL names a service: undefined then. */
export const namedService = async (values: ConnectionValues, context: Pick<CommandContext, "env">): Promise<CallService | undefined> =>
  namesService(values, context.env) ? openService(values, context) : undefined;
