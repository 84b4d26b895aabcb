import type { JSX } from "preact";
import { queryParams } from "../../router/address.ts";

/** Why sign-in by the identity provider failed, by the word in the address. */
const failures: Readonly<Record<string, string>> = {
  away: "The identity provider does not answer. Try again in a moment.",
  busy: "The service cannot sign you in right now. Try again in a moment.",
  denied: "The identity provider did not sign you in.",
  expired: "The sign-in took too long, or was started in another window. Sign in again.",
  other: "You signed in again with another account. Confirm with the account of this session.",
  refused: "The answer of the identity provider could not be verified. Sign in again. If that fails too, the service's log has the reason.",
  stale: "The identity provider did not ask you to sign in again, so nothing was confirmed.",
  unmapped:
    "You are signed in at the identity provider, but your account has no permissions here. Ask the operator of this service to map your account to permissions.",
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
