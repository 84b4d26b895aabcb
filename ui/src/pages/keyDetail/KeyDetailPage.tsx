import type { JSX } from "preact";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { keyState } from "../../data/keyState.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { lazyPart } from "../../design/states/lazyPart.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import type { PageProps } from "../../router/route.ts";
import { KeyActions } from "./actions/KeyActions.tsx";
import { useKey } from "./useKey.ts";
import "./keyDetail.css";

const { getKey } = KeysService.method;

const OverviewTab = lazyPart(async () => (await import("./overview/OverviewTab.tsx")).OverviewTab);
const ActivityTab = lazyPart(async () => (await import("./ActivityTab.tsx")).ActivityTab);
const ExplainTab = lazyPart(async () => (await import("./explain/ExplainTab.tsx")).ExplainTab);
const TryTab = lazyPart(async () => (await import("./TryTab.tsx")).TryTab);
const AuditTab = lazyPart(async () => (await import("./AuditTab.tsx")).AuditTab);
const SettingsTab = lazyPart(async () => (await import("./SettingsTab.tsx")).SettingsTab);

/** `/ui/keys/:id`: everything about one key, and everything that can be done with it. */
export const Page = ({ params: { id: keyId = "" } }: PageProps): JSX.Element => {
  const query = useKey(keyId);
  const { data, etag, reload } = query;
  const api = data?.api;
  const parent =
    api === undefined ? { href: "/ui/find", label: "Find" } : { href: `/ui/apis/${encodeURIComponent(api.id)}`, label: api.name };
  return (
    <PageFrame title={data?.stored.name ?? keyId} parent={parent} actions={<CodeDrawer method={getKey} request={{ keyId }} />}>
      <QueryView query={query}>
        {(known) => {
          const props = { ...known, etag, reload };
          return (
            <>
              <div class="key-line">
                <OutcomeBadge outcome={keyState(known.stored, Date.now())} />
                <code>{keyId}</code>
                {known.stored.start !== "" && (
                  <span>
                    begins with <code>{known.stored.start}</code>
                  </span>
                )}
              </div>
              <KeyActions {...props} />
              <Tabs
                label="Key"
                tabs={[
                  { id: "overview", label: "Overview", content: () => <OverviewTab {...props} /> },
                  { id: "activity", label: "Activity", content: () => <ActivityTab {...props} /> },
                  { id: "explain", label: "Explain", content: () => <ExplainTab {...props} /> },
                  { id: "try", label: "Try", content: () => <TryTab {...props} /> },
                  { id: "audit", label: "Audit", content: () => <AuditTab keyId={keyId} /> },
                  { id: "settings", label: "Settings", content: () => <SettingsTab {...props} /> },
                ]}
              />
            </>
          );
        }}
      </QueryView>
    </PageFrame>
  );
};
