import type { LoadResult } from "./load.ts";
import type { NodeProcess } from "./processes.ts";
import type { Pause } from "./servers/probe.ts";

/** What held up a server's main thread while a call was under way, in milliseconds. */
export interface HeldUp {
  /** Its collections. */
  readonly collections: number;
  /** Its event loop was late, collections included. */
  readonly loop: number;
  /** Of that it was ready to run, and had no core. */
  readonly waited: number;
}

/** Notes a server's pauses during `load`; resolves to its result and what lay within its longest call. */
export const pausesOf = async <R extends LoadResult>(
  server: NodeProcess,
  load: () => Promise<R>,
): Promise<{ readonly result: R; readonly heldUp: HeldUp }> => {
  await server.ask("watch");
  const result = await load();
  const pauses = await server.ask("pauses");
  const { longestAt: from = Number.NaN, longest } = result;
  const overlap = (pause: Pause): number => Math.max(0, Math.min(pause.from + pause.length, from + longest) - Math.max(pause.from, from));
  const sum = (kind: Pause["kind"], value: (pause: Pause) => number): number =>
    pauses.filter((pause) => pause.kind === kind && overlap(pause) > 0).reduce((total, pause) => total + value(pause), 0);
  const loop = sum("loop", overlap);
  const waited = Math.min(
    loop,
    sum("loop", ({ waited = 0 }) => waited),
  );
  return { result, heldUp: { collections: sum("collection", overlap), loop, waited } };
};

/** The cells of a table's row for `heldUp`, and their headings. */
export const heldUpHeader: readonly string[] = ["longest ms", "in it: collections", "loop late", "without a core"];
export const heldUpCells = (longest: number, { collections, loop, waited }: HeldUp): string[] =>
  [longest, collections, loop, waited].map((milliseconds) => milliseconds.toFixed(1));
