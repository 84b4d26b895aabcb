/** Which rows of a long table are there, and how much room the others take. */
export interface VisibleRows {
  /** First row, and the one behind the last. */
  readonly from: number;
  readonly to: number;
  /** Pixels above and below. */
  readonly above: number;
  readonly below: number;
}

/** Rows beside the visible ones, so that scrolling and Tab find the next. */
const spare = 10;

/** @param top pixels that are scrolled away @param height pixels of the window onto the table */
export const visibleRows = (count: number, rowHeight: number, top: number, height: number): VisibleRows => {
  const from = Math.min(Math.max(0, Math.floor(top / rowHeight) - spare), Math.max(0, count - 1));
  const to = Math.min(count, Math.ceil((top + height) / rowHeight) + spare);
  return { from, to, above: from * rowHeight, below: (count - to) * rowHeight };
};
