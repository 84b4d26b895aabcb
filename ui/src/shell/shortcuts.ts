/** The shortcuts that work on every page. */
export interface Shortcuts {
  readonly palette: () => void;
  readonly help: () => void;
}

const writes = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

/** Listens for Ctrl-K, `/` and `?` (console §3). Letters typed into a field, inside a shadow root too, are not shortcuts. @returns stops listening */
export const listenForShortcuts = ({ palette, help }: Shortcuts): (() => void) => {
  const listen = (event: KeyboardEvent): void => {
    if (document.querySelector("dialog[open]") !== null) return;
    const search = document.querySelector<HTMLElement>("main input[type=search]");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") palette();
    else if (writes(event.composedPath()[0] ?? null) || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "/" && search !== null) search.focus();
    else if (event.key === "/") palette();
    else if (event.key === "?") help();
    else return;
    event.preventDefault();
  };
  addEventListener("keydown", listen);
  return () => removeEventListener("keydown", listen);
};
