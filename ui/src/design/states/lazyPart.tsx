import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadPart } from "../../router/loadPart.ts";
import { PartFailed } from "./PartFailed.tsx";
import { Skeleton } from "./Skeleton.tsx";

/**
 * A tab, a dialog or a chart that is not on screen at first, as a part of its own: loaded when it is first shown (console §1).
 * @param load imports its file. What shows a secret once belongs into the part that asks for it: nothing is loaded in between.
 * @param lines of the skeleton in its place; 0 for a dialog, which takes none on the page
 */
export const lazyPart = <Props extends object>(load: () => Promise<ComponentType<Props>>, lines = 6): ComponentType<Props> => {
  let loaded: ComponentType<Props> | undefined;
  return (props: Props): JSX.Element => {
    const [state, setState] = useState<"loading" | "loaded" | "failed">(loaded === undefined ? "loading" : "loaded");
    useEffect(() => {
      // Effects come some time after what was drawn: another one on the page may have loaded it since.
      if (loaded !== undefined) return setState("loaded");
      let shown = true;
      loadPart(load).then(
        (Part) => {
          loaded = Part;
          if (shown) setState("loaded");
        },
        () => shown && setState("failed"),
      );
      return () => {
        shown = false;
      };
    }, []);
    if (loaded !== undefined) {
      const Part = loaded;
      return <Part {...props} />;
    }
    if (state === "failed") return <PartFailed />;
    return <Skeleton lines={lines} />;
  };
};
