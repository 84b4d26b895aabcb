import { type CounterServerAddress, parseCounterServerUrl } from "../secrets/counterServerAddress.ts";
import { type Parsed, type Reading, text, type Variables } from "./parsers.ts";

/** The server that keeps the counters of rate limits, and the PEM files that go with it. */
export interface CountersConfig {
  readonly address: CounterServerAddress;
  /** Undefined where the server is not reached over TLS. */
  readonly tls: CountersTlsFiles | undefined;
}

/** Paths of PEM files. */
interface CountersTlsFiles {
  /** Authorities by which the server is known; absent = those of the system. */
  readonly caFile: string | undefined;
  /** The certificate that the service shows, and its key; absent = none. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
}

const countersUrl = (url: string): Parsed<CounterServerAddress> => {
  const address = parseCounterServerUrl(url);
  return address === undefined
    ? {
        expected:
          "redis[s]://[user:password@]host[:port][/database], redis[s]+sentinel://[user:password@]host[:port][,…]/master[/database] or redis[s]+cluster://[user:password@]host[:port][,…], special characters percent-encoded",
      }
    : { value: address };
};

const variables = {
  COUNTERS_URL: {
    description:
      "Valkey or Redis server that counts rate limits: `redis://[user:password@]host[:port][/database]`, or `rediss://` for TLS. With Sentinel `redis+sentinel://host[:port],…/master`, a cluster `redis+cluster://host[:port],…`. The store counts them when unset.",
    parse: countersUrl,
    isSecret: true,
  },
  COUNTERS_TLS_CA: {
    description: "PEM file with the certificate authorities of the server of `COUNTERS_URL`; those of the system when unset.",
    parse: text,
  },
  COUNTERS_TLS_CERT: {
    description: "PEM file with the certificate chain that the service shows to the server of `COUNTERS_URL`.",
    parse: text,
  },
  COUNTERS_TLS_KEY: { description: "PEM file with the private key of `COUNTERS_TLS_CERT`.", parse: text },
} as const satisfies Variables;

/** Variables of the server that counts rate limits. */
export const countersVariables: Variables = variables;

/** Undefined where the store counts. */
export const readCounters = ({ env, read, problems }: Reading): CountersConfig | undefined => {
  const address = read(variables, "COUNTERS_URL");
  const files = {
    caFile: read(variables, "COUNTERS_TLS_CA"),
    certFile: read(variables, "COUNTERS_TLS_CERT"),
    keyFile: read(variables, "COUNTERS_TLS_KEY"),
  };
  const isSet = (name: string): boolean => env[name] !== undefined;
  const given = ["COUNTERS_TLS_CA", "COUNTERS_TLS_CERT", "COUNTERS_TLS_KEY"].find(isSet);
  const isTls = address?.isTls === true;
  if (isSet("COUNTERS_TLS_CERT") !== isSet("COUNTERS_TLS_KEY")) {
    problems.set("COUNTERS_TLS", "COUNTERS_TLS_CERT and COUNTERS_TLS_KEY: set both or neither");
  } else if (given !== undefined && !isTls && !problems.has("COUNTERS_URL")) {
    problems.set("COUNTERS_TLS", `${given} needs a COUNTERS_URL that starts with rediss: only TLS has certificates`);
  }
  return address && { address, tls: isTls ? files : undefined };
};
