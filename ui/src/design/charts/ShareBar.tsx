import type { JSX } from "preact";

export interface ShareBarProps {
  /** The striped part: denials. */
  readonly part: number;
  readonly rest: number;
  /** The longest bar of the table. */
  readonly most: number;
}

const width = 120;
const height = 12;

/** A bar that distinguishes its part by colour and by pattern. Its numbers are next to it. */
export const ShareBar = ({ part, rest, most }: ShareBarProps): JSX.Element => {
  const scale = width / Math.max(1, most);
  return (
    <svg class="share-bar" viewBox={`0 0 ${width} ${height}`} width={width} height={height} aria-hidden="true" focusable="false">
      <rect class="rest" x="0" y="2" width={rest * scale} height={height - 4} />
      <rect class="part" x={rest * scale} y="0" width={part * scale} height={height} />
    </svg>
  );
};
