import { oneOf, type Variable, type WithDefault, webUrl } from "./parsers.ts";

interface DocumentationVariables {
  readonly errorsBaseUrl: Variable<string>;
  readonly docs: WithDefault<"on" | "off">;
}

/** Variables of the documentation, a part of the one table. */
export const documentationVariables: DocumentationVariables = {
  errorsBaseUrl: {
    name: "ERRORS_BASE_URL",
    byDefault: undefined,
    description:
      "The start of every `error.type`, before `/errors/…`. Unset, it is `/docs` at `PUBLIC_URL`, or else at the address that the service listens on (`localhost` if it listens on all), where every error has its page.",
    parse: webUrl,
  },
  docs: {
    name: "DOCS",
    byDefault: "on",
    description: "The documentation on `/docs`, open to anyone who can reach the port: `on` or `off`.",
    parse: oneOf(["on", "off"] as const),
  },
};
