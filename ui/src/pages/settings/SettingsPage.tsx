import type { JSX } from "preact";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { Tabs } from "../../design/navigation/Tabs.tsx";
import { KeyboardTable } from "../../design/values/KeyboardTable.tsx";
import { MigrationsTab } from "./MigrationsTab.tsx";
import { SessionsTab } from "./SessionsTab.tsx";
import { ThemeTab } from "./ThemeTab.tsx";

/** `/ui/settings`: one's sessions, the look of the console, its keys, and imports from other systems. */
export const Page = (): JSX.Element => (
  <PageFrame title="Settings">
    <Tabs
      label="Settings"
      tabs={[
        { id: "sessions", label: "Sessions", content: () => <SessionsTab /> },
        { id: "theme", label: "Theme", content: () => <ThemeTab /> },
        { id: "keyboard", label: "Keyboard", content: () => <KeyboardTable /> },
        { id: "migrations", label: "Migrations", content: () => <MigrationsTab /> },
      ]}
    />
  </PageFrame>
);
