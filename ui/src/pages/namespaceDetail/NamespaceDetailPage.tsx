import type { JSX } from "preact";
import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { useLoad } from "../../data/hooks/useLoad.ts";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { lazyPart } from "../../design/states/lazyPart.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import type { PageProps } from "../../router/route.ts";
import { DeleteNamespace } from "./DeleteNamespace.tsx";
import { readNamespace } from "./readNamespace.ts";
import { TryTab } from "./TryTab.tsx";
import "./namespace.css";

const OverridesTab = lazyPart(async () => (await import("./overrides/OverridesTab.tsx")).OverridesTab);
const IdentifiersTab = lazyPart(async () => (await import("./identifiers/IdentifiersTab.tsx")).IdentifiersTab);
const WhatIfTab = lazyPart(async () => (await import("./whatIf/WhatIfTab.tsx")).WhatIfTab);

/** `/ui/limits/:namespace`: overrides, identifiers, what another limit would do, a check by hand, and the end of one namespace. */
export const Page = ({ params: { namespace: given = "" } }: PageProps): JSX.Element => {
  const namespace = useLoad(`namespace ${given}`, (options) => readNamespace(given, options));
  return (
    <PageFrame
      title={namespace.data?.name ?? given}
      parent={{ href: "/ui/limits", label: "Rate limits" }}
      actions={<CodeDrawer method={RatelimitService.method.listNamespaces} request={{ search: given }} />}
    >
      <QueryView query={namespace}>
        {(names) => (
          <>
            <p class="quiet">
              <code>{names.id}</code>
            </p>
            <Tabs
              label="Namespace"
              tabs={[
                { id: "overrides", label: "Overrides", content: () => <OverridesTab namespace={names} /> },
                { id: "identifiers", label: "Identifiers", content: () => <IdentifiersTab namespace={names} /> },
                { id: "what-if", label: "What if", content: () => <WhatIfTab namespace={names} /> },
                { id: "try", label: "Try", content: () => <TryTab namespace={names} /> },
                { id: "settings", label: "Settings", content: () => <DeleteNamespace namespace={names} /> },
              ]}
            />
          </>
        )}
      </QueryView>
    </PageFrame>
  );
};
