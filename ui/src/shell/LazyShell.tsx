import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Skeleton } from "../design/states/Skeleton.tsx";
import { loadPart } from "../router/loadPart.ts";

/** The shell, loaded once somebody is signed in: the sign-in page does without it (console §1). */
export const LazyShell = (): JSX.Element => {
  const [loaded, setLoaded] = useState<{ readonly Shell: ComponentType }>();
  useEffect(() => {
    loadPart(() => import("./Shell.tsx")).then(setLoaded, () => undefined);
  }, []);
  return loaded === undefined ? <Skeleton /> : <loaded.Shell />;
};
