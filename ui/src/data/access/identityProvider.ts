import { type Signal, signal } from "@preact/signals";

/** Name of the identity provider. Undefined: people sign in with root keys only, or the service has not answered yet. */
export const identityProvider: Signal<string | undefined> = signal(undefined);

/** Reads it from the headers of an answer of the console's own service. */
export const noteIdentityProvider = (headers: Headers): void => {
  identityProvider.value = headers.get("x-latchkey-oidc") ?? identityProvider.value;
};

/** Where the way to the provider and back begins: no page, but an address of the service. @param next page to go to then */
export const providerAddress = (next: string): string => `/ui/oidc/start?${new URLSearchParams({ next })}`;

/** The same for a session that is to be elevated (console §2.4). */
export const elevationAddress = "/ui/oidc/start?elevate=1";
