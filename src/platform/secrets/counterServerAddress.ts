import { type Secret, secret } from "./secret.ts";

/** User and password of a server; without a user the password is that of its default user. */
export interface Credentials {
  readonly user: string | undefined;
  readonly password: Secret | undefined;
}

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** Where the Valkey or Redis server is that keeps the counters of rate limits. */
export interface CounterServerAddress {
  /** `sentinel`: `hosts` are Sentinels, which know the server. `cluster`: some of its nodes. */
  readonly kind: "single" | "sentinel" | "cluster";
  /** At least one; exactly one of `single`. */
  readonly hosts: readonly HostAndPort[];
  readonly credentials: Credentials;
  readonly isTls: boolean;
  /** 0 in a cluster. */
  readonly database: number;
  /** What the Sentinels call the server; empty unless `sentinel`. */
  readonly master: string;
  readonly sentinelCredentials: Credentials;
}

const NO_CREDENTIALS: Credentials = { user: undefined, password: undefined };

const decoded = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
};

/** `user:password` or `:password`, both percent-encoded. */
const readCredentials = (given: string | undefined): Credentials | undefined => {
  if (given === undefined) return NO_CREDENTIALS;
  const [, encodedUser = "", encodedPassword = ""] = /^([^:]*):(.+)$/s.exec(given) ?? [];
  const [user, password] = [decoded(encodedUser), decoded(encodedPassword)];
  if (user === undefined || password === undefined || password === "") return undefined;
  return { user: user === "" ? undefined : user, password: secret(password) };
};

const readHosts = (given: string, defaultPort: number): readonly HostAndPort[] | undefined => {
  const hosts: HostAndPort[] = [];
  for (const each of given.split(",")) {
    const [, bracketed, plain, digits = String(defaultPort)] = /^(?:\[([0-9a-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(each) ?? [];
    const host = bracketed ?? plain;
    const port = Number(digits);
    if (host === undefined || port < 1 || port > 65_535) return undefined;
    hosts.push({ host, port });
  }
  return hosts;
};

const URL_PARTS = /^(rediss?)(?:\+(sentinel|cluster))?:\/\/(?:([^\s@/]*)@)?([^\s@/?#]+)(\/[^\s?#]*)?(?:\?([^\s#]*))?$/;

/**
 * Reads `redis[s]://[user:password@]host[:port][/database]`, `redis[s]+cluster://…host[:port][,…]` or
 * `redis[s]+sentinel://…host[:port][,…]/master[/database][?sentinelAuth=user:password]`. Undefined for anything else.
 */
export const parseCounterServerUrl = (url: string): CounterServerAddress | undefined => {
  const [, scheme, kind = "single", auth, hostList = "", path = "", query] = URL_PARTS.exec(url) ?? [];
  if (scheme === undefined || (kind !== "single" && kind !== "sentinel" && kind !== "cluster")) return undefined;
  const hosts = readHosts(hostList, kind === "sentinel" ? 26_379 : 6379);
  const credentials = readCredentials(auth);
  const [, master = "", digits = "0"] = (kind === "sentinel" ? /^\/([\w.-]+)(?:\/(\d{1,5}))?$/ : /^()\/?(\d{1,5})?$/).exec(path) ?? [];
  const [, sentinelAuth] = query === undefined ? [] : (/^sentinelAuth=([^&]+)$/.exec(query) ?? []);
  const sentinelCredentials = readCredentials(sentinelAuth);
  const isWrong =
    hosts === undefined ||
    credentials === undefined ||
    sentinelCredentials === undefined ||
    (kind === "single" && hosts.length > 1) ||
    (kind === "sentinel") !== (master !== "") ||
    (kind !== "sentinel" && !/^\/?(\d{1,5})?$/.test(path)) ||
    (kind === "cluster" && digits !== "0") ||
    (query !== undefined && (kind !== "sentinel" || sentinelAuth === undefined));
  if (isWrong) return undefined;
  return { kind, hosts, credentials, isTls: scheme === "rediss", database: Number(digits), master, sentinelCredentials };
};

/** Where the server is, for people: without user and password. */
export const describeCounterServer = ({ kind, hosts, master }: CounterServerAddress): string => {
  const list = hosts.map(({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`).join(", ");
  if (kind === "sentinel") return `${master} of the Sentinels at ${list}`;
  return kind === "cluster" ? `the cluster at ${list}` : list;
};
