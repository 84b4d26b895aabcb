import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { loadPart } from "../../router/loadPart.ts";
import { Skeleton } from "../states/Skeleton.tsx";
import type { ChartProps } from "./Chart.tsx";

/** A chart, whose library is loaded when the first one is shown (console §1). */
export const LazyChart = (props: ChartProps): JSX.Element => {
  const [loaded, setLoaded] = useState<{ readonly Chart: ComponentType<ChartProps> }>();
  useEffect(() => {
    loadPart(() => import("./Chart.tsx")).then(setLoaded, () => undefined);
  }, []);
  return loaded === undefined ? <Skeleton lines={8} /> : <loaded.Chart {...props} />;
};
