import { type Secret, secret } from "../secrets/secret.ts";
import { oneOf, type Parsed, type Parser, type Reading, text, type Variables, webUrl } from "./parsers.ts";

const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Which calls are traced: all, none, or a share; `parentbased_…`: as the caller's trace says, else so. */
export type SamplerName = (typeof samplers)[number];

/** Names and values, in their order. */
type Pairs = Readonly<Record<string, string>>;

/** Where traces are sent, and which. */
export interface TracingConfig {
  /** Takes OTLP over HTTP, in protobuf. */
  readonly url: string;
  /** Names and values of headers of each request to it; they may hold a password. */
  readonly headers: Readonly<Record<string, Secret>>;
  readonly sampler: SamplerName;
  /** Share of the calls that are traced, 0 to 1. */
  readonly ratio: number;
  readonly serviceName: string | undefined;
  readonly attributes: Pairs;
}

const decoded = (encoded: string): string | undefined => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
};

/** `name=value,name=value`, the values percent-encoded. */
const readPairs = (given: string, names: RegExp, values: RegExp): Pairs | undefined => {
  const pairs: [string, string][] = [];
  for (const part of given.split(",")) {
    const [, name = "", encoded = ""] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/s.exec(part) ?? [];
    const value = decoded(encoded);
    if (!names.test(name) || value === undefined || !values.test(value)) return undefined;
    pairs.push([name, value]);
  }
  return Object.fromEntries(pairs);
};

const headers: Parser<Pairs> = (value) => {
  const read = readPairs(value, /^[\w!#$%&'*+.^`|~-]+$/, /^[\t\x20-\x7e]*$/);
  return read === undefined
    ? { expected: "a list of headers such as authorization=Basic%20dXNlcjpwYXNz, separated by commas, the values percent-encoded" }
    : { value: read };
};

const attributes: Parser<Pairs> = (value) => {
  const read = readPairs(value, /./, /^/);
  return read === undefined
    ? { expected: "a list such as deployment.environment.name=production,team=identity, the values percent-encoded" }
    : { value: read };
};

const ratio = (value: string): Parsed<number> =>
  /^(0?\.\d{1,18}|1\.0{1,18}|[01])$/.test(value) ? { value: Number(value) } : { expected: "a number from 0 to 1, such as 0.01" };

/** Names and values are those of OpenTelemetry. */
const variables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    description:
      "OpenTelemetry collector that takes traces, as `http://collector:4318`; they are sent to its `/v1/traces`. Nothing is traced when unset.",
    parse: webUrl,
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    description: "Headers of the requests to the collector: `name=value`, comma-separated, values percent-encoded.",
    parse: headers,
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    byDefault: "http/protobuf",
    description: "Protocol of the collector: `http/protobuf`, the only one that is spoken.",
    parse: oneOf(["http/protobuf"] as const),
  },
  OTEL_SERVICE_NAME: {
    description: "`service.name` of the traces; when unset that of `OTEL_RESOURCE_ATTRIBUTES`, or `latchkey`.",
    parse: text,
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    description: "What traces tell of this node: `name=value`, comma-separated, values percent-encoded.",
    parse: attributes,
  },
  OTEL_TRACES_SAMPLER: {
    byDefault: "parentbased_traceidratio",
    description: `Which calls are traced: ${samplers.map((name) => `\`${name}\``).join(", ")}. \`parentbased_…\` follows the caller's \`traceparent\` where there is one.`,
    parse: oneOf(samplers),
  },
  OTEL_TRACES_SAMPLER_ARG: {
    byDefault: "0.01",
    description: "Share of the calls that `traceidratio` and `parentbased_traceidratio` trace, from `0` to `1`.",
    parse: ratio,
  },
} as const satisfies Variables;

/** Variables of traces. */
export const tracingVariables: Variables = variables;

/** Undefined where nothing is traced. */
export const readTracing = ({ read }: Reading): TracingConfig | undefined => {
  const endpoint = read(variables, "OTEL_EXPORTER_OTLP_ENDPOINT");
  // Platforms set the others for all of their programs, also to what only some of these understand.
  if (endpoint === undefined) return undefined;
  read(variables, "OTEL_EXPORTER_OTLP_PROTOCOL");
  const sent = Object.entries(read(variables, "OTEL_EXPORTER_OTLP_HEADERS") ?? {}).map(([name, value]) => [name, secret(value)] as const);
  return {
    url: `${endpoint}/v1/traces`,
    headers: Object.fromEntries(sent),
    sampler: read(variables, "OTEL_TRACES_SAMPLER"),
    ratio: read(variables, "OTEL_TRACES_SAMPLER_ARG"),
    serviceName: read(variables, "OTEL_SERVICE_NAME"),
    attributes: read(variables, "OTEL_RESOURCE_ATTRIBUTES") ?? {},
  };
};
