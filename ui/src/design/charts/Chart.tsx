import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { utcTime, zoneTime } from "../values/formatTime.ts";
import { lineStyle } from "./lineStyle.ts";
import { loneValues } from "./loneValues.ts";
import "uplot/dist/uPlot.min.css";

export interface Series {
  readonly name: string;
  /** One for each time; undefined: no value. */
  readonly values: readonly (number | undefined)[];
}

export interface ChartProps {
  /** "Verifications by outcome". */
  readonly title: string;
  /** Unix ms, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** "ms"; none: counts. */
  readonly unit?: string;
  /** A range was brushed, Unix ms. */
  readonly onZoom?: (start: number, end: number) => void;
}

const height = 240;

const draw = (element: HTMLElement, { times, series, unit, onZoom }: ChartProps): uPlot => {
  const style = getComputedStyle(element);
  const axis = { stroke: style.color, grid: { stroke: style.borderColor, width: 1 }, ticks: { stroke: style.borderColor, width: 1 } };
  return new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      cursor: { drag: { x: onZoom !== undefined, y: false, setScale: false } },
      axes: [
        axis,
        {
          ...axis,
          size: 64,
          values: (_, ticks) => ticks.map((tick) => `${tick.toLocaleString("en")}${unit === undefined ? "" : ` ${unit}`}`),
        },
      ],
      scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(1, high * 1.05)] } },
      series: [
        {},
        ...series.map(({ name }, index) => ({
          label: name,
          width: 2,
          // A value without a neighbour is on no line.
          points: { show: false, size: 6, filter: (plot: uPlot, line: number) => loneValues(plot.data[line] ?? []) },
          ...lineStyle(index, style),
        })),
      ],
      hooks: {
        setSelect: [
          (plot) => {
            const { left, width } = plot.select;
            if (width > 4) onZoom?.(plot.posToVal(left, "x") * 1000, plot.posToVal(left + width, "x") * 1000);
          },
        ],
      },
    },
    [times.map((time) => time / 1000), ...series.map(({ values }) => values.map((value) => value ?? null))],
    element,
  );
};

/** Lines over time, with their table behind them: no meaning by colour alone (console §3), each line has its own dashes. */
export const Chart = (props: ChartProps): JSX.Element => {
  const { title, times, series, unit } = props;
  const place = useRef<HTMLDivElement>(null);
  const [tabled, setTabled] = useState(false);
  // The figures are what it is drawn from.
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot = draw(element, props);
    const redraw = (): void => {
      plot.destroy();
      plot = draw(element, props);
    };
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", redraw);
    const themed = new MutationObserver(redraw);
    themed.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => {
      resized.disconnect();
      themed.disconnect();
      scheme.removeEventListener("change", redraw);
      plot.destroy();
    };
  }, [times, series]);
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <ul class="legend" aria-label="Lines">
        {series.map(({ name }, index) => (
          <li key={name}>
            <svg width="24" height="8" aria-hidden="true" focusable="false" class={`series-${index % 6}`}>
              <line x1="0" y1="4" x2="24" y2="4" />
            </svg>
            {name}
          </li>
        ))}
      </ul>
      <div ref={place} class="chart-place" aria-hidden="true" />
      <details onToggle={(event) => setTabled(event.currentTarget.open)}>
        <summary>Table</summary>
        {/* Hundreds of formatted times and numbers, for whoever opens it. */}
        {tabled && (
          <div class="scrolls" tabIndex={0} role="region" aria-label={`${title}, as a table`}>
            <table>
              <thead>
                <tr>
                  <th scope="col">Time</th>
                  {series.map(({ name }) => (
                    <th key={name} scope="col" class="number">
                      {name}
                      {unit === undefined ? "" : ` (${unit})`}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {times.map((time, index) => (
                  <tr key={time}>
                    <th scope="row" title={utcTime(time)}>
                      {zoneTime(time)}
                    </th>
                    {series.map(({ name, values }) => (
                      <td key={name} class="number">
                        {values[index]?.toLocaleString("en") ?? "–"}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </details>
    </figure>
  );
};
