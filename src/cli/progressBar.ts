import type { CommandContext } from "./command.ts";

const WIDTH = 30;

export interface ProgressBar {
  /** So far it has come. @param total where it ends, if that was not known before; 0 when there is nothing to do. */
  readonly reach: (place: number, total?: number) => void;
  /** Takes it away. */
  readonly end: () => void;
}

/**
 * Shows at a terminal how far something has come: `[######                        ]  20 %  1000 of 5000`. Drawn anew with each
 * hundredth only; nothing is shown where nobody looks.
 */
export const createProgressBar = ({ showProgress }: Pick<CommandContext, "showProgress">, known = 0): ProgressBar => {
  let shown = -1;
  return {
    reach: (place, total = known) => {
      if (showProgress === undefined || total <= 0) return;
      const part = Math.min(Math.max(place / total, 0), 1);
      const percent = Math.floor(part * 100);
      if (percent === shown) return;
      shown = percent;
      const bar = "#".repeat(Math.floor(part * WIDTH)).padEnd(WIDTH);
      showProgress(`[${bar}] ${String(percent).padStart(3)} %  ${place} of ${total}`);
    },
    end: () => {
      if (shown >= 0) showProgress?.("");
    },
  };
};
