import { type OidcConfig, readOidc } from "./oidcVariables.ts";
import { integer, isLoopback, oneOf, type Reading, type Variable, type WithDefault, webOrigin } from "./parsers.ts";

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

interface ConsoleVariables {
  readonly console: WithDefault<"auto" | "on" | "off">;
  readonly consolePort: Variable<number>;
  readonly publicUrl: Variable<string>;
  readonly consoleIdleMinutes: WithDefault<number>;
  readonly consoleSessionHours: WithDefault<number>;
}

/** Variables of the console, a part of the one table. */
export const consoleVariables: ConsoleVariables = {
  console: {
    name: "CONSOLE",
    byDefault: "auto",
    description: "The web console on `/ui`: `on`, `off`, or `auto`, which is on where `HOST` is a loopback address.",
    parse: oneOf(["auto", "on", "off"] as const),
  },
  consolePort: {
    name: "CONSOLE_PORT",
    byDefault: undefined,
    description: "Separate port for the console, on `HOST`; `PORT` when unset, `0` picks a free one.",
    parse: integer(0, 65_535),
  },
  publicUrl: {
    name: "PUBLIC_URL",
    byDefault: undefined,
    description:
      "Origin at which people open the console and the documentation, such as `https://keys.example.com`. Unset, the console answers to `localhost`, `127.0.0.1` and `[::1]` only.",
    parse: webOrigin,
  },
  consoleIdleMinutes: {
    name: "CONSOLE_IDLE_MINUTES",
    byDefault: "30",
    description: "Minutes without use after which a console session ends.",
    parse: integer(1, 1_440),
  },
  consoleSessionHours: {
    name: "CONSOLE_SESSION_HOURS",
    byDefault: "12",
    description: "Hours after which a console session ends, even if it is in use.",
    parse: integer(1, 720),
  },
};

/** Undefined where there is none. @param host that the service listens on. */
export const readConsole = (
  reading: Reading & { readonly readRequired: <T>(variable: WithDefault<T>) => T },
  host: string,
): ConsoleConfig | undefined => {
  const { env, read, readRequired, problems } = reading;
  const mode = readRequired(consoleVariables.console);
  const config: ConsoleConfig = {
    port: read(consoleVariables.consolePort),
    idle: readRequired(consoleVariables.consoleIdleMinutes) * 60_000,
    whole: readRequired(consoleVariables.consoleSessionHours) * 3_600_000,
    oidc: readOidc(reading),
  };
  const isOn = mode === "on" || (mode === "auto" && isLoopback(host));
  if (config.oidc !== undefined && !isOn)
    problems.set("OIDC console", "OIDC_ISSUER: people sign in to the console, which is off; set CONSOLE=on");
  else if (config.oidc !== undefined && env.PUBLIC_URL === undefined && !isLoopback(host))
    problems.set("OIDC redirect", "OIDC_ISSUER needs PUBLIC_URL, where the provider sends people back, unless HOST is a loopback address");
  return isOn ? config : undefined;
};
