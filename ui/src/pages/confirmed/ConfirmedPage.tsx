import type { JSX } from "preact";
import { session } from "../../data/access/sessionState.ts";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { ProviderFailure } from "../../design/states/ProviderFailure.tsx";
import { queryParams } from "../../router/address.ts";

/** `/ui/confirmed`: the last page of the window for signing in again. The pending action continues in the first window. */
export const Page = (): JSX.Element => {
  const isConfirmed = typeof session.value !== "string" && session.value.elevatedUntil !== undefined && !queryParams.value.has("oidc");
  return (
    <PageFrame title="Confirmation">
      <ProviderFailure />
      {isConfirmed ? (
        <p>Your identity is confirmed for five minutes. Close this window and continue in the other one.</p>
      ) : (
        <p>Your identity was not confirmed. Close this window and try again in the other one.</p>
      )}
    </PageFrame>
  );
};
