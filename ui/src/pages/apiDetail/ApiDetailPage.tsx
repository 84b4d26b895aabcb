import type { JSX } from "preact";
import { ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { lazyPart } from "../../design/states/lazyPart.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import type { PageProps } from "../../router/route.ts";

const { getApi } = ApisService.method;

const KeysTab = lazyPart(async () => (await import("./KeysTab.tsx")).KeysTab);
const AnalyticsTab = lazyPart(async () => (await import("./AnalyticsTab.tsx")).AnalyticsTab);
const SettingsTab = lazyPart(async () => (await import("./SettingsTab.tsx")).SettingsTab);

/** `/ui/apis/:id`: keys, analytics and settings of one API. */
export const Page = ({ params: { id: apiId = "" } }: PageProps): JSX.Element => {
  const api = useQuery(getApi, { apiId });
  return (
    <PageFrame
      title={api.data?.data?.name ?? apiId}
      parent={{ href: "/ui/apis", label: "APIs" }}
      actions={<CodeDrawer method={getApi} request={{ apiId }} />}
    >
      <QueryView query={api}>
        {() => (
          <>
            <p class="quiet">
              <code>{apiId}</code>
            </p>
            <Tabs
              label="API"
              tabs={[
                { id: "keys", label: "Keys", content: () => <KeysTab apiId={apiId} /> },
                { id: "analytics", label: "Analytics", content: () => <AnalyticsTab apiId={apiId} /> },
                { id: "settings", label: "Settings", content: () => <SettingsTab apiId={apiId} /> },
              ]}
            />
          </>
        )}
      </QueryView>
    </PageFrame>
  );
};
