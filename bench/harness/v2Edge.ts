import { headersOf, httpExchange } from "./httpExchange.ts";

/** An answer in the words of `/v2`, whatever the edge it came over. */
export interface Answer {
  readonly status: number;
  readonly body: {
    readonly meta: { readonly requestId: string; readonly degraded?: readonly string[] };
    readonly data?: unknown;
    readonly pagination?: { readonly hasMore: boolean; readonly cursor?: string };
    readonly error?: {
      readonly title: string;
      readonly detail: string;
      readonly status: number;
      readonly type: string;
      readonly errors?: readonly { readonly location: string; readonly message: string; readonly fix?: string }[];
    };
  };
}

/** Headers beside those that every call has; `onHeaders` gets those of a success. */
export interface Exchange {
  readonly headers?: Readonly<Record<string, string>>;
  readonly onHeaders?: (headers: Headers) => void;
}

/** One way to call the service. Requests and answers are those of `/v2`; other edges translate. */
export interface Edge {
  readonly name: "v2" | "connect" | "grpc" | "grpc-web" | "grpc-js";
  /** @param rootKey undefined = no credentials; a text with a blank in it is the whole `Authorization` header. */
  readonly call: (procedure: string, body: unknown, rootKey: string | undefined, exchange?: Exchange) => Promise<Answer>;
  readonly close: () => void;
}

/** The header of a root key; one with a blank in it is the whole header. */
export const authorization = (rootKey: string | undefined): Record<string, string> =>
  rootKey === undefined ? {} : { authorization: rootKey.includes(" ") ? rootKey : `Bearer ${rootKey}` };

export const v2Edge = (url: string): Edge => ({
  name: "v2",
  call: async (procedure, body, rootKey, { headers, onHeaders } = {}) => {
    const response = await httpExchange(`${url}/v2/${procedure}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization(rootKey), ...headers },
      body: JSON.stringify(body),
    });
    onHeaders?.(headersOf(response));
    return { status: response.status, body: JSON.parse(response.text) as Answer["body"] };
  },
  close: () => undefined,
});
