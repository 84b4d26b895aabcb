const serviceName = "latchkey.console.v1.ConsoleService";

/** Calls a procedure of `/ui/rpc` as the page does. */
const post = (url: string, path: string, body: object, cookie?: string): Promise<Response> =>
  fetch(`${url}/ui/rpc/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-latchkey-ui": "1",
      "sec-fetch-site": "same-origin",
      origin: url,
      ...(cookie === undefined ? {} : { cookie }),
    },
    body: JSON.stringify(body),
  });

/** A session of the console. */
export interface ConsoleSession {
  /** `name=value`, as a browser sends it. */
  readonly cookie: string;
  /** Calls `<Service>/<Method>` of latchkey.v2; the body of its answer. Throws when it fails. */
  readonly call: <T>(method: string, request: object) => Promise<T>;
}

/** Signs in to the console of a service. */
export const openConsoleSession = async (url: string, rootKey: string): Promise<ConsoleSession> => {
  const answer = await post(url, `${serviceName}/SignIn`, { rootKey });
  const [cookie] = answer.headers.getSetCookie().map((line) => line.split(";")[0]);
  if (answer.status !== 200 || cookie === undefined) throw new Error(`signing in failed: ${answer.status} ${await answer.text()}`);
  return {
    cookie,
    call: async <T>(method: string, request: object): Promise<T> => {
      const response = await post(url, `latchkey.v2.${method}`, request, cookie);
      if (response.status !== 200) throw new Error(`${method}: ${response.status} ${await response.text()}`);
      return (await response.json()) as T;
    },
  };
};
