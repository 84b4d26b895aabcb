/** Work in slices: `yield` says how many bytes were handled since the last one, and lets others go on. */
export type Sliced<T> = Generator<number, T, void>;

/** Does work in slices, and fails as it does; with the reason of the signal once that is aborted. */
export type Slices = <T>(work: Sliced<T>, signal?: AbortSignal) => Promise<T>;

export interface SlicesOptions {
  /** Hears of each slice and the bytes that were handled in it. */
  readonly onSlice?: (bytes: number) => void;
}

interface Task {
  readonly work: Sliced<unknown>;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (value: never) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * What is too much for one turn of the event loop goes on in slices: one slice in a turn, whoever's it is, each task in
 * its turn. So large bodies share the time between calls among themselves, and any number of them adds no more to a
 * call's wait than one slice.
 */
export const createSlices = ({ onSlice }: SlicesOptions = {}): Slices => {
  const tasks: Task[] = [];

  const next = (): void => {
    const task = tasks.shift() as Task;
    const { work, signal, resolve, reject } = task;
    try {
      signal?.throwIfAborted();
      const { done, value } = work.next();
      if (done) resolve(value as never);
      else {
        onSlice?.(value as number);
        tasks.push(task);
      }
    } catch (error) {
      reject(error);
    }
    if (tasks.length > 0) setImmediate(next);
  };

  return (work, signal) =>
    new Promise((resolve, reject) => {
      tasks.push({ work, signal, resolve, reject });
      if (tasks.length === 1) setImmediate(next);
    });
};

/** Does all of it at once: for what is known to be little. */
export const inOneGo = <T>(work: Sliced<T>): T => {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
};
