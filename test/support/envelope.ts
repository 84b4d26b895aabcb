import { expect } from "vitest";
import { headersOf, httpExchange } from "../../bench/harness/httpExchange.ts";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { type Reason, reasons } from "../../src/platform/base/errors.ts";
import { errorStatus } from "../../src/platform/http/errorStatus.ts";
import { expectDescribed } from "./described.ts";
import { expectDocumented } from "./documentedErrors.ts";

/** An answer over HTTP with its raw parts. */
export interface HttpAnswer extends Answer {
  readonly headers: Headers;
  readonly text: string;
}

export interface HttpRequest {
  /** Undefined = no credentials, unless `headers` has some. */
  readonly rootKey?: string | undefined;
  /** Instead of JSON as the type that is sent, and of any that is accepted; undefined values are left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly method?: string;
  /** A text or bytes are sent as they are, all else as JSON. */
  readonly body?: unknown;
}

const bytesOf = (body: unknown): string | Uint8Array =>
  typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);

/** One HTTP request; `path` is a procedure's name or, with a leading slash, any path. An answer without a body has `body` {}. */
export const request = async (url: string, path: string, options: HttpRequest = {}): Promise<HttpAnswer> => {
  const { rootKey, method = "POST", body } = options;
  const headers = Object.fromEntries(
    Object.entries({
      "content-type": "application/json",
      authorization: rootKey === undefined ? undefined : `Bearer ${rootKey}`,
      ...options.headers,
      accept: options.headers?.accept ?? "*/*",
    }).filter(([, value]) => value !== undefined),
  );
  const address = path.startsWith("/") ? url + path : `${url}/v2/${path}`;
  const response = await httpExchange(address, { method, headers, body: body === undefined ? undefined : bytesOf(body) });
  const { status, text } = response;
  const answer: HttpAnswer = { status, headers: headersOf(response), text, body: text === "" ? {} : JSON.parse(text) };
  expectDocumented(path, answer);
  const isText = typeof body === "string" || body instanceof Uint8Array;
  // The body of a refused request is not checked and need not be JSON.
  const sent: unknown = isText && status === 200 ? JSON.parse(Buffer.from(body).toString()) : body;
  if (method === "POST") expectDescribed(path, sent, answer, answer.headers.get("content-type") ?? "");
  return answer;
};

const statusesWithErrors: readonly number[] = [400, 408, 413, 499];

/** Asserts that the answer is one of the two envelopes of protocol §5, nothing more and nothing less. */
export const expectEnvelope = (answer: Pick<Answer, "status" | "body">): void => {
  const { status, body } = answer;
  expect(body.meta).toEqual({ requestId: expect.stringMatching(/^req_[A-Za-z0-9_-]{8,}$/) });
  if (status === 200) {
    expect(Object.keys(body).filter((key) => key !== "pagination")).toEqual(["meta", "data"]);
    return;
  }
  expect(Object.keys(body)).toEqual(["meta", "error"]);
  const { error } = body;
  expect(Object.keys(error ?? {}).sort()).toEqual(
    ["detail", ...(statusesWithErrors.includes(status) ? ["errors"] : []), "status", "title", "type"].sort(),
  );
  const [base, suffix] = error?.type.split("/errors/") ?? [];
  expect(base).toMatch(/^https?:\/\/[^/]/);
  const reason = (Object.keys(reasons) as Reason[]).find((each) => reasons[each].type === suffix);
  const known = reason && errorStatus(reason);
  expect({ status, title: error?.title, inBody: error?.status }).toEqual({ status: known?.http, title: known?.title, inBody: status });
  expect(error?.detail).toMatch(/\S/);
  for (const entry of error?.errors ?? []) {
    expect(entry).toEqual({
      location: expect.stringMatching(/^(body|header)/),
      message: expect.stringMatching(/\S/),
      ...(Object.hasOwn(entry, "fix") ? { fix: expect.stringMatching(/\S/) } : {}),
    });
  }
};
