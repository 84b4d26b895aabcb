import type { JSX } from "preact";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { HoldersTab } from "./HoldersTab.tsx";
import { PermissionsTab } from "./PermissionsTab.tsx";
import { RolesTab } from "./RolesTab.tsx";
import "./access.css";

/** `/ui/access`: roles and permissions of keys, and who holds them. */
export const Page = (): JSX.Element => (
  <PageFrame title="Access">
    <Tabs
      label="Access"
      tabs={[
        { id: "roles", label: "Roles", content: () => <RolesTab /> },
        { id: "permissions", label: "Permissions", content: () => <PermissionsTab /> },
        { id: "holders", label: "Who holds", content: () => <HoldersTab /> },
      ]}
    />
  </PageFrame>
);
