import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { mayLeave } from "./leaveGuards.ts";

/** Path and query of the page: the one place of filters, tabs and time ranges (console §3). */
interface Address {
  readonly path: string;
  readonly query: string;
}

const read = (): Address => ({ path: location.pathname, query: location.search });

/** Where the page is. */
export const address: Signal<Address> = signal<Address>({ path: "/ui", query: "" });

/** The query's parameters. */
export const queryParams: ReadonlySignal<URLSearchParams> = computed(() => new URLSearchParams(address.value.query));

/** Goes to a path of the console, with its query. @param replace the entry of the history, for filters and redirects */
export const navigate = (to: string, { replace = false } = {}): void => {
  if (!replace && !mayLeave()) return;
  if (replace) history.replaceState(history.state, "", to);
  else history.pushState(undefined, "", to);
  address.value = read();
  if (!replace) scrollTo(0, 0);
};

/** Sets parameters of the query and keeps the others; undefined and "" remove one. */
export const setQueryParams = (changes: Readonly<Record<string, string | undefined>>, { replace = true } = {}): void => {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") params.delete(name);
    else params.set(name, value);
  }
  const query = params.toString();
  navigate(query === "" ? location.pathname : `${location.pathname}?${query}`, { replace });
};

/** A link that the router takes over: of this origin, below /ui, opened in this window. */
const ownLink = (event: MouseEvent): HTMLAnchorElement | undefined => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return undefined;
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return undefined;
  return /^\/ui(\/|$)/.test(link.pathname) && !link.pathname.startsWith("/ui/oidc/") ? link : undefined;
};

/** Follows links and the browser's buttons from now on. */
export const startRouter = (): void => {
  address.value = read();
  addEventListener("popstate", () => {
    if (!mayLeave()) history.pushState(undefined, "", address.value.path + address.value.query);
    else address.value = read();
  });
  document.addEventListener("click", (event) => {
    const link = ownLink(event);
    if (link === undefined || link.hash !== "") return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
};
