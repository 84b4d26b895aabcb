import type { JSX } from "preact";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { ProviderFailure } from "../../design/states/ProviderFailure.tsx";
import { queryParams } from "../../router/address.ts";

/** `/ui/confirmed`: where the window ends that was opened to sign in again; what waited for that goes on in the other one. */
export const Page = (): JSX.Element => (
  <PageFrame title="Confirmation">
    <ProviderFailure />
    {queryParams.value.has("oidc") ? (
      <p>Nothing was confirmed. Close this window and try again in the other one.</p>
    ) : (
      <p>It is confirmed that it is you, for five minutes. Close this window and go on in the other one.</p>
    )}
  </PageFrame>
);
