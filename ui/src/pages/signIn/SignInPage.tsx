import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { identityProvider, providerAddress } from "../../data/access/identityProvider.ts";
import { signIn } from "../../data/access/session.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import { useSecondsLeft } from "../../data/hooks/useSecondsLeft.ts";
import { Button } from "../../design/actions/Button.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { TextField } from "../../design/forms/TextField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { ProviderFailure } from "../../design/states/ProviderFailure.tsx";
import { queryParams } from "../../router/address.ts";
import { afterSignIn } from "../../router/afterSignIn.ts";

/**
 * `/ui/sign-in`: exchanges a root key for a session (console §2.1), or leads to the identity provider where there is one (console §2.8). The key
 * leaves the page's memory at once.
 */
export const Page = (): JSX.Element => {
  const [rootKey, setRootKey] = useState("");
  const [error, setError] = useState<CallError>();
  const [pending, setPending] = useState(false);
  // After too many failed sign-ins, or while the store is down, an earlier attempt would fail as well.
  const wait = useSecondsLeft(error?.kind === "unavailable" ? error : undefined);
  const submit = async (): Promise<void> => {
    if (pending) return;
    setPending(true);
    try {
      await signIn(rootKey);
    } catch (thrown) {
      setError(readCallError(thrown));
      setPending(false);
    } finally {
      setRootKey("");
    }
  };
  return (
    <main class="sign-in">
      <div class="card">
        <PageFrame title="Sign in to Latchkey">
          <ProviderFailure />
          <Form
            onSubmit={() => void submit()}
            error={error}
            fields={["rootKey"]}
            actions={
              <>
                <Button
                  kind="primary"
                  type="submit"
                  pending={pending}
                  disabledBecause={wait > 0 ? "Wait before you try again." : undefined}
                >
                  Sign in
                </Button>
                {wait > 0 && (
                  <span class="hint number" aria-hidden="true">
                    in {wait} s
                  </span>
                )}
              </>
            }
          >
            <TextField
              label="Root key"
              name="rootKey"
              type="password"
              value={rootKey}
              onChange={setRootKey}
              required
              hint={
                <>
                  The first one is in the file <code>DATA_DIR/root-key</code>.
                </>
              }
            />
          </Form>
          {identityProvider.value !== undefined && (
            <div class="actions">
              <a class="button" href={providerAddress(afterSignIn(queryParams.value.get("next")))}>
                Sign in with {identityProvider.value}
              </a>
            </div>
          )}
        </PageFrame>
      </div>
    </main>
  );
};
