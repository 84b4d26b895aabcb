import { StatementSync } from "node:sqlite";

/** What SQLite did on this thread in one turn of the event loop. */
export interface TurnCost {
  /** Steps of its virtual machine: some ten for each row that a query looks at, whether or not it is found. */
  readonly steps: number;
  /** Length of the texts that it returned. */
  readonly bytes: number;
}

type Counted = StatementSync & { stat(counter: "vmStep"): number };

const lengthOf = (row: unknown): number =>
  Object.values(row ?? {}).reduce((sum: number, value) => sum + (typeof value === "string" ? value.length : 0), 0);

/** Counts until it is disposed of. */
export const meterReads = (): Disposable & { readonly worst: () => TurnCost; readonly reset: () => void } => {
  const { get, all, iterate } = StatementSync.prototype;
  let worst: TurnCost = { steps: 0, bytes: 0 };
  let turn = { steps: 0, bytes: 0 };
  let isTurnNoticed = false;

  const count = (steps: number, bytes: number): void => {
    if (!isTurnNoticed) {
      isTurnNoticed = true;
      setImmediate(() => {
        isTurnNoticed = false;
        turn = { steps: 0, bytes: 0 };
      });
    }
    turn.steps += steps;
    turn.bytes += bytes;
    worst = { steps: Math.max(worst.steps, turn.steps), bytes: Math.max(worst.bytes, turn.bytes) };
  };

  const counted = {
    get(this: Counted, ...parameters: unknown[]): unknown {
      const before = this.stat("vmStep");
      const row = Reflect.apply(get, this, parameters);
      count(this.stat("vmStep") - before, lengthOf(row));
      return row;
    },
    all(this: Counted, ...parameters: unknown[]): unknown[] {
      const before = this.stat("vmStep");
      const rows: unknown[] = Reflect.apply(all, this, parameters);
      count(
        this.stat("vmStep") - before,
        rows.reduce((sum: number, row) => sum + lengthOf(row), 0),
      );
      return rows;
    },
    *iterate(this: Counted, ...parameters: unknown[]): Generator {
      const before = this.stat("vmStep");
      let bytes = 0;
      try {
        for (const row of Reflect.apply(iterate, this, parameters) as Iterable<unknown>) {
          bytes += lengthOf(row);
          yield row;
        }
      } finally {
        count(this.stat("vmStep") - before, bytes);
      }
    },
  };
  Object.assign(StatementSync.prototype, counted);

  return {
    worst: () => worst,
    reset: () => {
      worst = { steps: 0, bytes: 0 };
    },
    [Symbol.dispose]: () => {
      Object.assign(StatementSync.prototype, { get, all, iterate });
    },
  };
};
