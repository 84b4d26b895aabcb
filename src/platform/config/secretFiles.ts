import { readFileSync } from "node:fs";
import { text, type Variable } from "./parsers.ts";

type Environment = Readonly<Record<string, string | undefined>>;

const fileOf = (name: string): Variable<string> => ({
  description: `File that holds \`${name}\`, such as a mounted secret, in its place; a line end at its end does not count.`,
  parse: text,
});

type SecretName =
  | "MONGODB_URL"
  | "COUNTERS_URL"
  | "ENCRYPTION_KEYS"
  | "CLICKHOUSE_URL"
  | "ADMIN_TOKEN"
  | "OIDC_CLIENT_SECRET"
  | "OTEL_EXPORTER_OTLP_HEADERS";

/** Variables that name a file with the secret of another one. */
export const secretFileVariables: Readonly<Record<`${SecretName}_FILE`, Variable<string>>> = {
  MONGODB_URL_FILE: fileOf("MONGODB_URL"),
  COUNTERS_URL_FILE: fileOf("COUNTERS_URL"),
  ENCRYPTION_KEYS_FILE: fileOf("ENCRYPTION_KEYS"),
  CLICKHOUSE_URL_FILE: fileOf("CLICKHOUSE_URL"),
  ADMIN_TOKEN_FILE: {
    description:
      "File that holds `ADMIN_TOKEN`, such as a mounted secret, in its place; a line end at its end does not count. Watched: a new token counts within seconds, and the old one no more.",
    parse: text,
  },
  OIDC_CLIENT_SECRET_FILE: fileOf("OIDC_CLIENT_SECRET"),
  OTEL_EXPORTER_OTLP_HEADERS_FILE: fileOf("OTEL_EXPORTER_OTLP_HEADERS"),
};

/** An environment with what the files hold, and what is wrong with them, one sentence each. */
export interface ReadSecrets {
  readonly env: Environment;
  readonly problems: readonly string[];
}

/** What a file holds, without the line end that editors leave. */
export const withoutLineEnd = (held: string): string => held.replace(/\r?\n$/, "");

/** Reads the files that are named; nothing of what they hold is in a problem. Those that are named emptily are left to `loadConfig`. */
export const readSecretFiles = (env: Environment): ReadSecrets => {
  const found: Record<string, string> = {};
  const problems: string[] = [];
  for (const variable of Object.keys(secretFileVariables)) {
    const path = env[variable];
    const name = variable.replace(/_FILE$/, "");
    if (path === undefined || path.trim() === "") continue;
    if (env[name] !== undefined) {
      problems.push(`${name} and ${variable}: set one of them`);
      continue;
    }
    try {
      const held = withoutLineEnd(readFileSync(path, "utf8"));
      if (held.trim() === "") problems.push(`${variable}: ${JSON.stringify(path)} is empty`);
      else found[name] = held;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
      problems.push(`${variable}: ${JSON.stringify(path)} cannot be read${code}`);
    }
  }
  return { env: { ...env, ...found }, problems };
};
