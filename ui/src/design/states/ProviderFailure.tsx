import type { JSX } from "preact";
import { queryParams } from "../../router/address.ts";

/** Why sign-in by the identity provider failed, by the word in the address. */
const failures: Readonly<Record<string, string>> = {
  away: "The identity provider does not answer. Try again in a moment.",
  busy: "The service cannot sign you in right now. Try again in a moment.",
  denied: "The identity provider did not sign you in.",
  expired: "That took too long, or was begun in another window. Sign in again.",
  other: "You signed in again with another account than that of this session. Confirm with the account that you signed in with.",
  refused: "What the identity provider answered could not be confirmed. Sign in again; if that does not help, the service's log says why.",
  stale: "The identity provider did not ask you to sign in again, so this session is not trusted with more than before.",
  unmapped:
    "You are signed in at the identity provider, but nothing here is permitted to you. Whoever runs this service can map your account to permissions.",
};

/** Explains why the identity provider's sign-in failed, if the address says so. */
export const ProviderFailure = (): JSX.Element | null => {
  const word = queryParams.value.get("oidc");
  return word === null ? null : (
    <div class="note error" role="alert">
      <p>{failures[word] ?? failures.refused}</p>
    </div>
  );
};
