import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { queryParams, setQueryParams } from "../../router/address.ts";

export interface Tab {
  /** Its value in the query: `tab=analytics`; the first tab has none there. */
  readonly id: string;
  readonly label: string;
  readonly content: () => ComponentChildren;
}

export interface TabsProps {
  /** Names them. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** Their name in the query. */
  readonly parameter?: string;
}

/** Tabs whose choice is in the URL. Arrow keys, Home and End move between them. */
export const Tabs = ({ label, tabs, parameter = "tab" }: TabsProps): JSX.Element | null => {
  const base = useId();
  const chosen = tabs.find(({ id }) => id === queryParams.value.get(parameter)) ?? tabs[0];
  if (chosen === undefined) return null;
  const choose = (tab: Tab | undefined): void => {
    if (tab === undefined) return;
    setQueryParams({ [parameter]: tab === tabs[0] ? undefined : tab.id }, { replace: false });
    document.getElementById(`${base}-${tab.id}`)?.focus();
  };
  const move = (event: KeyboardEvent): void => {
    const at = tabs.indexOf(chosen);
    const targets: Readonly<Record<string, number>> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    choose(tabs.at(target % tabs.length));
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${base}-${tab.id}`}
            type="button"
            role="tab"
            class="tab"
            aria-selected={tab === chosen}
            aria-controls={tab === chosen ? `${base}-panel` : undefined}
            tabIndex={tab === chosen ? 0 : -1}
            onClick={() => choose(tab)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div key={chosen.id} id={`${base}-panel`} role="tabpanel" aria-labelledby={`${base}-${chosen.id}`} class="tab-panel">
        {chosen.content()}
      </div>
    </>
  );
};
