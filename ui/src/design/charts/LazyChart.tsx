import type { ComponentType } from "preact";
import { lazyPart } from "../states/lazyPart.tsx";
import type { ChartProps } from "./Chart.tsx";

/** A chart, whose library is loaded when the first one is shown (console §1). */
export const LazyChart: ComponentType<ChartProps> = lazyPart(async () => (await import("./Chart.tsx")).Chart, 14);
