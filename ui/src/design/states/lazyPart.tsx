import type { ComponentType, JSX } from "preact";
import { loadPart } from "../../router/loadPart.ts";
import { usePart } from "../../router/usePart.ts";
import { PartFailed } from "./PartFailed.tsx";
import { Skeleton } from "./Skeleton.tsx";

/**
 * A tab, a dialog or a chart that is not on screen at first, as a part of its own: loaded when it is first shown (console §1).
 * @param load imports its file. A part that shows a secret once must not be lazy: the part that requests the secret contains it.
 * @param lines of the skeleton in its place; 0 for a dialog, which takes none on the page
 */
export const lazyPart = <Props extends object>(load: () => Promise<ComponentType<Props>>, lines = 6): ComponentType<Props> => {
  let loaded: ComponentType<Props> | undefined;
  const loadOnce = async (): Promise<ComponentType<Props>> => {
    loaded = await loadPart(load);
    return loaded;
  };
  return (props: Props): JSX.Element => {
    const { part: Part, error, retry } = usePart(load, loadOnce, () => loaded);
    if (Part !== undefined) return <Part {...props} />;
    if (error !== undefined) return <PartFailed error={error} onRetry={retry} />;
    return <Skeleton lines={lines} />;
  };
};
