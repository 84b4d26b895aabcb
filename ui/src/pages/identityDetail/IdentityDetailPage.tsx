import type { JSX } from "preact";
import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { lazyPart } from "../../design/states/lazyPart.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import type { PageProps } from "../../router/route.ts";
import { sharedLimits } from "./identityDraft.ts";

const { getIdentity } = IdentitiesService.method;

const KeysTab = lazyPart(async () => (await import("./KeysTab.tsx")).KeysTab);
const UsageTab = lazyPart(async () => (await import("./UsageTab.tsx")).UsageTab);
const SettingsTab = lazyPart(async () => (await import("./SettingsTab.tsx")).SettingsTab);

/** `/ui/identities/:externalId`: keys, usage, shared limits and meta of one identity, by its externalId or its id. */
export const Page = ({ params: { externalId: named = "" } }: PageProps): JSX.Element => {
  const request = { identity: named };
  const query = useQuery(getIdentity, request);
  return (
    <PageFrame
      title={query.data?.data?.externalId ?? named}
      parent={{ href: "/ui/identities", label: "Identities" }}
      actions={<CodeDrawer method={getIdentity} request={request} />}
    >
      <QueryView query={query}>
        {({ data: identity }) =>
          identity !== undefined && (
            <>
              <p class="quiet">
                <code>{identity.id}</code> · {sharedLimits(identity.ratelimits)}
              </p>
              <Tabs
                label="Identity"
                tabs={[
                  { id: "keys", label: "Keys", content: () => <KeysTab externalId={identity.externalId} /> },
                  { id: "usage", label: "Usage", content: () => <UsageTab identityId={identity.id} /> },
                  {
                    id: "settings",
                    label: "Limits and meta",
                    content: () => <SettingsTab identity={identity} etag={query.etag} reload={query.reload} />,
                  },
                ]}
              />
            </>
          )
        }
      </QueryView>
    </PageFrame>
  );
};
