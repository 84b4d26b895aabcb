import type { JSX } from "preact";
import type { WindowShape } from "./windowShape.ts";

const width = 160;
const height = 28;
const half = width / 2;

/**
 * The two fixed windows of a counter and the sliding window over them. The frame starts where earlier use has lost its weight
 * and ends now; the dashed line is the limit. The numbers are in the table next to it.
 */
export const WindowPicture = ({
  shape: { current, previous, elapsed },
  limit,
  most,
}: {
  readonly shape: WindowShape;
  readonly limit: number | undefined;
  /** The value at the top of the picture where there is no limit. */
  readonly most: number;
}): JSX.Element => {
  const highest = 1.1 * Math.max(1, ...(limit === undefined ? [most] : [current, previous, limit]));
  // A small use stays visible.
  const tall = (value: number): number => (value === 0 ? 0 : Math.max(1.5, (value / highest) * (height - 2)));
  const bar = (x: number, wide: number, value: number, name: string): JSX.Element => (
    <rect class={name} x={x} y={height - tall(value)} width={wide} height={tall(value)} />
  );
  const now = half + elapsed * half;
  return (
    <svg class="windows" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true" focusable="false">
      {bar(0, elapsed * half, previous, "faded")}
      {bar(elapsed * half, half - elapsed * half, previous, "weighing")}
      {bar(half, now - half, current, "present")}
      {limit !== undefined && <line class="limit" x1="0" x2={width} y1={height - tall(limit)} y2={height - tall(limit)} />}
      <line class="border" x1={half} x2={half} y1="0" y2={height} />
      <rect class="frame" x={elapsed * half + 0.5} y="0.5" width={half - 1} height={height - 1} />
    </svg>
  );
};
