import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { signOut } from "../data/access/session.ts";
import { readCallError } from "../data/calls/callError.ts";
import { Button } from "../design/actions/Button.tsx";
import { PageFrame } from "../design/navigation/PageFrame.tsx";
import { announce } from "../design/states/announcements.ts";
import { EmptyState } from "../design/states/EmptyState.tsx";
import { address } from "../router/address.ts";
import { preloadPages } from "../router/loadPage.ts";
import { findRoute, navigationRoutes, routes } from "../router/routes.ts";
import { CommandPalette } from "./CommandPalette.tsx";
import { ElevationDialog } from "./ElevationDialog.tsx";
import { Help } from "./Help.tsx";
import { PageOutlet } from "./PageOutlet.tsx";
import { SessionScript } from "./SessionScript.tsx";
import { SessionWarning } from "./SessionWarning.tsx";
import { watchSession } from "./sessionWatch.ts";
import { listenForShortcuts } from "./shortcuts.ts";

const isBelow = (path: string, route: string): boolean => path === route || (route !== "/ui" && path.startsWith(`${route}/`));

/** Signs out, or says that it did not. */
const leave = async (): Promise<void> => {
  try {
    await signOut();
  } catch (thrown) {
    announce(`You are still signed in. ${readCallError(thrown).message}`);
  }
};

/** Navigation and page of a signed-in person. */
export const Shell = (): JSX.Element => {
  const [open, setOpen] = useState<"palette" | "help" | "script">();
  const { path } = address.value;
  const found = findRoute(path);
  useEffect(watchSession, []);
  useEffect(() => preloadPages(routes), []);
  useEffect(() => listenForShortcuts({ palette: () => setOpen("palette"), help: () => setOpen("help") }), []);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href="/ui">
          Latchkey
        </a>
        <div class="actions">
          <Button kind="plain" onClick={() => setOpen("palette")}>
            Go to <kbd aria-hidden="true">Ctrl K</kbd>
          </Button>
          <Button kind="plain" onClick={() => setOpen("help")}>
            Help
          </Button>
          <Button kind="plain" onClick={() => void leave()}>
            Sign out
          </Button>
        </div>
      </header>
      <nav class="pages" aria-label="Pages">
        <ul>
          {navigationRoutes.map((route) => (
            <li key={route.path}>
              <a href={route.path} aria-current={isBelow(path, route.path) ? "page" : undefined}>
                {route.title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        <SessionWarning />
        {found === undefined ? (
          <PageFrame title="Not found">
            <EmptyState>There is no page at this address.</EmptyState>
          </PageFrame>
        ) : (
          <PageOutlet route={found.route} params={found.params} />
        )}
      </main>
      {open === "palette" && <CommandPalette onClose={() => setOpen(undefined)} onScript={() => setOpen("script")} />}
      {open === "help" && <Help onClose={() => setOpen(undefined)} />}
      {open === "script" && <SessionScript onClose={() => setOpen(undefined)} />}
      <ElevationDialog />
    </div>
  );
};
