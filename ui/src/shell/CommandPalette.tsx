import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { signOut } from "../data/access/session.ts";
import { findable } from "../data/findable.ts";
import { theme } from "../data/theme.ts";
import { Dialog } from "../design/dialogs/Dialog.tsx";
import { NotSearched } from "../design/states/NotSearched.tsx";
import { navigate } from "../router/address.ts";
import { idTarget } from "../router/idTarget.ts";
import { pageCommands } from "../router/pageCommands.ts";
import { navigationRoutes, routes } from "../router/routes.ts";
import { useFound } from "../router/useFound.ts";

interface Entry {
  readonly label: string;
  readonly detail: string;
  readonly run: () => void;
}

const fixed = (onScript: () => void): readonly Entry[] => [
  ...pageCommands.value.map(({ label, run }) => ({ label, detail: "action", run })),
  ...navigationRoutes.map(({ title, path }) => ({ label: title, detail: "page", run: () => navigate(path) })),
  ...(["system", "light", "dark"] as const).map((name) => ({
    label: `Theme: ${name}`,
    detail: "action",
    run: () => {
      theme.value = name;
    },
  })),
  { label: "This session as a script", detail: "action", run: onScript },
  { label: "Sign out", detail: "action", run: () => void signOut().catch(() => undefined) },
];

/** Milliseconds without typing before objects are searched. */
const pause = 150;

export interface CommandPaletteProps {
  readonly onClose: () => void;
  /** Shows the session's calls. */
  readonly onScript: () => void;
}

/** Ctrl-K: pages, actions, objects and pasted ids (console §3). A combobox: the focus stays in the field, arrows choose. */
export const CommandPalette = ({ onClose, onScript }: CommandPaletteProps): JSX.Element => {
  const base = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { objects, forbidden } = useFound(text.trim(), pause);
  const target = idTarget(text, routes);
  const { mayBeSecret } = findable(text.trim());
  const entries: readonly Entry[] = [
    ...(target === undefined ? [] : [{ label: `Open ${text.trim()}`, detail: "id", run: () => navigate(target) }]),
    // A whole key is sent to the search of that page alone (console §2.9).
    ...(mayBeSecret ? [{ label: "Find", detail: "page, which whole keys are pasted into", run: () => navigate("/ui/find") }] : []),
    ...fixed(onScript).filter(({ label }) => label.toLowerCase().includes(text.trim().toLowerCase())),
    ...objects.map(({ label, detail = "", href }) => ({ label, detail, run: () => navigate(href) })),
  ];
  const chosen = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.run();
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "Enter") run(entries[chosen]);
    else if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, entries.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        class="input"
        type="text"
        role="combobox"
        aria-label="Page, action, name or id"
        aria-expanded="true"
        aria-controls={`${base}-list`}
        aria-activedescendant={entries.length > 0 ? `${base}-${chosen}` : undefined}
        autocomplete="off"
        spellcheck={false}
        data-autofocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={keys}
      />
      <ul id={`${base}-list`} class="palette-list" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <li
            key={`${entry.detail} ${entry.label}`}
            id={`${base}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => run(entry)}
          >
            {entry.label} <span class="quiet">{entry.detail}</span>
          </li>
        ))}
      </ul>
      <p class="quiet" role="status">
        {entries.length === 0 ? "Nothing found." : ""}
      </p>
      <NotSearched forbidden={forbidden} />
    </Dialog>
  );
};
