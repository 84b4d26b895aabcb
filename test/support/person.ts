import { expect } from "vitest";
import { type Browser, type ConsoleAnswer, openBrowser, type SentRequest, send } from "./browser.ts";

/** A person with a browser that keeps the cookies of each origin apart, on the way to a provider and back. */
export interface Person {
  /** For calls with the session that was opened. */
  readonly browser: Browser;
  /** By name, those of the console. */
  readonly cookies: Map<string, string>;
  /** Begins at the console; the answer leads to the provider. */
  readonly start: (query?: string, headers?: SentRequest["headers"]) => Promise<ConsoleAnswer>;
  /** Follows the provider until it sends back. @returns the address of the callback */
  readonly atProvider: (location: string | undefined) => Promise<string>;
  /** Comes back; to the node of this browser, whatever the host of the address. */
  readonly callback: (address: string, headers?: SentRequest["headers"]) => Promise<ConsoleAnswer>;
  /** All of it. */
  readonly signIn: (query?: string) => Promise<ConsoleAnswer>;
}

const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" } as const;

/** @param url of the node. @param common headers of every request to it, such as those of a proxy */
export const openPerson = (url: string, common: SentRequest["headers"] = {}): Person => {
  const jars = new Map<string, Map<string, string>>();
  const jarOf = (address: string): Map<string, string> => jars.getOrInsertComputed(new URL(address).origin, () => new Map());
  const browser = openBrowser(url, common);
  const cookies = jarOf(url);

  const visit = async (address: string, headers: SentRequest["headers"]): Promise<ConsoleAnswer> => {
    const jar = jarOf(address);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await send(address, { headers: { cookie: cookie || undefined, ...navigation, ...headers } });
    for (const set of answer.headers["set-cookie"] ?? []) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/max-age=0|expires=Thu, 01 Jan 1970/i.test(set)) jar.delete(name);
      else jar.set(name, value);
    }
    return answer;
  };

  const atConsole = async (address: string, headers: SentRequest["headers"]): Promise<ConsoleAnswer> => {
    const answer = await visit(address, { ...common, ...headers });
    const session = [...cookies].find(([name]) => /^(__Host-)?latchkey(-\d+)?$/.test(name));
    browser.cookie = session?.join("=");
    return answer;
  };

  const person: Person = {
    browser,
    cookies,
    start: (query = "", headers = {}) => {
      const [name, value] = browser.cookie?.split("=") ?? [];
      if (name !== undefined && value !== undefined) cookies.set(name, value);
      return atConsole(`${url}/ui/oidc/start${query}`, { "sec-fetch-site": "same-origin", ...headers });
    },
    atProvider: async (location) => {
      let next = location ?? expect.unreachable("nobody was sent to the provider");
      for (let step = 0; !new URL(next).pathname.startsWith("/ui/"); step++) {
        const answer = await visit(next, {});
        if (answer.headers.location === undefined || step > 9)
          expect.unreachable(`the provider went nowhere: ${answer.status} ${answer.text}`);
        next = new URL(answer.headers.location, next).href;
      }
      return next;
    },
    callback: (address, headers = {}) => {
      const { pathname, search } = new URL(address);
      return atConsole(url + pathname + search, { "sec-fetch-site": "cross-site", ...headers });
    },
    signIn: async (query) => {
      const { status, headers, text } = await person.start(query);
      expect([status, text]).toEqual([303, ""]);
      return person.callback(await person.atProvider(headers.location));
    },
  };
  return person;
};
