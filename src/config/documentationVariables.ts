import { oneOf, type Variable, webUrl } from "./parsers.ts";

interface DocumentationVariables {
  readonly errorsBaseUrl: Variable<string>;
  readonly docs: Variable<"on" | "off"> & { readonly byDefault: string };
}

/** Variables of the documentation, a part of the one table. */
export const documentationVariables: DocumentationVariables = {
  errorsBaseUrl: {
    name: "ERRORS_BASE_URL",
    byDefault: undefined,
    description:
      "What `error.type` starts with, before `/errors/…`. Unset, it is `/docs` on `PUBLIC_URL`, or else on the address that the service listens on (`localhost` where that is all addresses), where each error has its page.",
    parse: webUrl,
  },
  docs: {
    name: "DOCS",
    byDefault: "on",
    description: "`off` serves no documentation on `/docs`, which anybody who can reach the port may read.",
    parse: oneOf(["on", "off"] as const),
  },
};
