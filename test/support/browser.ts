import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";

/** An answer of the console. */
export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of any message
  readonly body: any;
}

export interface SentRequest {
  readonly method?: string;
  /** Undefined values are left out. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: string | Uint8Array;
  /** Instead of this machine's default one. */
  readonly localAddress?: string;
}

/** Sends one request with exactly these headers, `Host` included, which `fetch` does not allow. */
export const send = (url: string, { method = "GET", headers = {}, body, localAddress }: SentRequest = {}): Promise<ConsoleAnswer> =>
  new Promise((resolve, reject) => {
    // For GET and DELETE, node does not announce a body by itself.
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const given = Object.fromEntries(
      Object.entries({ ...length, ...headers }).filter(([, value]) => value !== undefined),
    ) as OutgoingHttpHeaders;
    const open = url.startsWith("https:") ? httpsRequest : httpRequest;
    const options = { method, headers: given, agent: false, rejectUnauthorized: false, ...(localAddress ? { localAddress } : {}) };
    const req = open(url, options, (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = res.headers["content-type"]?.startsWith("application/json") === true && text !== "";
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text, body: isJson ? JSON.parse(text) : undefined });
      });
    });
    req.on("error", reject);
    req.end(body);
  });

/** The type of a failure on Connect: the last segments of that in its detail. */
export const failureOf = ({ body }: ConsoleAnswer): { readonly code: string; readonly type: string; readonly message: string } => {
  const detail = body?.details?.[0]?.debug?.type ?? "";
  return { code: body?.code, type: String(detail).split("/errors/").at(-1) ?? "", message: body?.message };
};

/** A browser on the console: keeps its cookies and says what a browser says. */
export interface Browser {
  /** Calls `ConsoleService.<name>`, or `<Service>.<Method>` of latchkey.v2. */
  readonly call: (
    procedure: string,
    message?: object,
    headers?: SentRequest["headers"],
    from?: Partial<SentRequest>,
  ) => Promise<ConsoleAnswer>;
  readonly signIn: (rootKey: string) => Promise<ConsoleAnswer>;
  /** `name=value`, as it would be sent; undefined = none. */
  cookie: string | undefined;
}

export const rpcPath = (procedure: string): string => {
  const [first = "", second] = procedure.split(".");
  return second === undefined ? `/ui/rpc/latchkey.console.v1.ConsoleService/${first}` : `/ui/rpc/latchkey.v2.${first}/${second}`;
};

/** @param url of the service. @param common headers of every request, such as those of a proxy. */
export const openBrowser = (url: string, common: SentRequest["headers"] = {}): Browser => {
  const browser: Browser = {
    cookie: undefined,
    call: async (procedure, message = {}, headers = {}, from = {}) => {
      const answer = await send(url + rpcPath(procedure), {
        method: "POST",
        body: JSON.stringify(message),
        ...from,
        headers: {
          "content-type": "application/json",
          "x-latchkey-ui": "1",
          "sec-fetch-site": "same-origin",
          origin: new URL(url).origin,
          cookie: browser.cookie,
          ...common,
          ...headers,
        },
      });
      const [set] = answer.headers["set-cookie"] ?? [];
      if (set !== undefined) browser.cookie = set.includes("Max-Age=0") ? undefined : set.split(";")[0];
      return answer;
    },
    signIn: (rootKey) => browser.call("SignIn", { rootKey }),
  };
  return browser;
};
