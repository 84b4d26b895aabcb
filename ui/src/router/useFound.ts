import { useEffect, useState } from "preact/hooks";
import { readCallError } from "../data/calls/callError.ts";
import { findable } from "../data/findable.ts";
import type { FoundObject, Route } from "./route.ts";
import { routes } from "./routes.ts";

/** The results of a search over the pages so far. */
export interface Found {
  readonly objects: readonly FoundObject[];
  /** Pages whose objects the session may not see, by the message that names the permission. */
  readonly forbidden: readonly string[];
}

const nothing: Found = { objects: [], forbidden: [] };

/**
 * Searches the objects of all pages by a name or an id. A text that may be a secret is sent nowhere (console §2.9).
 * @param pause milliseconds without another text before it is searched
 * @param except the path of a page that is left out
 */
export const useFound = (text: string, pause: number, except?: Route["path"]): Found => {
  const [found, setFound] = useState(nothing);
  useEffect(() => {
    setFound(nothing);
    const { mayBeSecret } = findable(text);
    if (text.length < 2 || mayBeSecret) return;
    const abort = new AbortController();
    const add = (added: Partial<Found>): void => {
      if (abort.signal.aborted) return;
      setFound(({ objects, forbidden }) => ({
        objects: [...objects, ...(added.objects ?? [])],
        forbidden: [...new Set([...forbidden, ...(added.forbidden ?? [])])],
      }));
    };
    const timer = setTimeout(() => {
      for (const { search } of routes.filter(({ path }) => path !== except)) {
        search?.(text, abort.signal).then(
          (objects) => add({ objects }),
          (thrown) => {
            // Another failure of one page leaves the others: a search over all of them is no place for errors.
            const { kind, message } = readCallError(thrown);
            if (kind === "forbidden") add({ forbidden: [message] });
          },
        );
      }
    }, pause);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found;
};
