import type { JSX } from "preact";

export interface SparklineProps {
  readonly values: readonly number[];
  /** The counted events and their period: "verifications in the last 24 hours". */
  readonly of: string;
  /** Beside the line, where the sum of the values says nothing: "12 a second". */
  readonly figure?: string;
}

const width = 96;
const height = 24;

/** A line without axes; its words say what it shows. */
export const Sparkline = ({ values, of, figure }: SparklineProps): JSX.Element => {
  const highest = Math.max(1, ...values);
  const total = values.reduce((sum, value) => sum + value, 0);
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, index) => `${(index * step).toFixed(1)},${(height - 1 - (value / highest) * (height - 2)).toFixed(1)}`);
  return (
    <span class="sparkline">
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true" focusable="false">
        <polygon points={`0,${height} ${points.join(" ")} ${width},${height}`} />
        <polyline points={points.join(" ")} />
      </svg>
      <span class="number">{figure ?? total.toLocaleString("en")}</span>
      <span class="visually-hidden"> {of}</span>
    </span>
  );
};
