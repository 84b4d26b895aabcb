import { type OidcConfig, readOidc } from "./oidcVariables.ts";
import { integer, isLoopback, oneOf, type Reading, type Variables } from "./parsers.ts";

/** The web console (console §1, §2). */
export interface ConsoleConfig {
  /** A port of its own, 0 = a free one; absent = that of the service. */
  readonly port: number | undefined;
  /** A session ends when it was not used for so long, in milliseconds, */
  readonly idle: number;
  /** and in any case after so long. */
  readonly whole: number;
  /** Absent = people sign in with root keys only. */
  readonly oidc: OidcConfig | undefined;
}

const variables = {
  CONSOLE: {
    byDefault: "auto",
    description: "The web console on `/ui`: `on`, `off`, or `auto`, which is on where `HOST` is a loopback address.",
    parse: oneOf(["auto", "on", "off"] as const),
  },
  CONSOLE_PORT: {
    description: "Separate port for the console, on `HOST`; `PORT` when unset, `0` picks a free one.",
    parse: integer(0, 65_535),
  },
  CONSOLE_IDLE_MINUTES: {
    byDefault: "30",
    description: "Minutes without use after which a console session ends.",
    parse: integer(1, 1_440),
  },
  CONSOLE_SESSION_HOURS: {
    byDefault: "12",
    description: "Hours after which a console session ends, even if it is in use.",
    parse: integer(1, 720),
  },
} as const satisfies Variables;

/** Variables of the console. */
export const consoleVariables: Variables = variables;

/** Undefined where there is none. @param host that the service listens on. */
export const readConsole = (reading: Reading, host: string): ConsoleConfig | undefined => {
  const { env, read, problems } = reading;
  const mode = read(variables, "CONSOLE");
  const config: ConsoleConfig = {
    port: read(variables, "CONSOLE_PORT"),
    idle: read(variables, "CONSOLE_IDLE_MINUTES") * 60_000,
    whole: read(variables, "CONSOLE_SESSION_HOURS") * 3_600_000,
    oidc: readOidc(reading),
  };
  const isOn = mode === "on" || (mode === "auto" && isLoopback(host));
  if (config.oidc !== undefined && !isOn)
    problems.set("OIDC console", "OIDC_ISSUER: people sign in to the console, which is off; set CONSOLE=on");
  else if (config.oidc !== undefined && env.PUBLIC_URL === undefined && !isLoopback(host))
    problems.set("OIDC redirect", "OIDC_ISSUER needs PUBLIC_URL, where the provider sends people back, unless HOST is a loopback address");
  return isOn ? config : undefined;
};
