import { describe, expect, test } from "vitest";
import { createReadTurns, type ReadTurns, TURN } from "../../../src/platform/storage/embedded/sqlite/readTurns.ts";

/** How often the event loop has gone round. */
const roundsOf = () => {
  let rounds = 0;
  let running = true;
  const count = (): void => {
    rounds++;
    if (running) setImmediate(count);
  };
  setImmediate(count);
  return {
    now: () => rounds,
    stop: () => {
      running = false;
    },
  };
};

const reads = (turns: ReadTurns, kind: "one" | "slice", count: number, cost: readonly [rows: number, bytes: number], done: () => void) =>
  Array.from({ length: count }, () =>
    turns.run(kind, (spend) => {
      spend(...cost);
      done();
    }),
  );

describe("reads of one turn of the event loop", () => {
  test.each([
    { kind: "slice", cost: [TURN.rows / 4, 0], perTurn: 4 },
    { kind: "slice", cost: [0, TURN.bytes / 2], perTurn: 2 },
    { kind: "slice", cost: [TURN.rows * 10, TURN.bytes * 10], perTurn: 1 },
    { kind: "one", cost: [TURN.rows / 4, 0], perTurn: 8 },
  ] as const)("are as many as it has room for: $perTurn of kind $kind that cost $cost", async ({ kind, cost, perTurn }) => {
    const rounds = roundsOf();
    const byRound = new Map<number, number>();
    const note = (): void => void byRound.set(rounds.now(), (byRound.get(rounds.now()) ?? 0) + 1);
    await Promise.all(reads(createReadTurns(), kind, perTurn * 5, cost, note));
    rounds.stop();
    expect(Math.max(...byRound.values())).toBe(perTurn);
    expect(byRound.size).toBe(5);
  });

  test("run at once where there is room", async () => {
    let ran = false;
    const run = createReadTurns().run("slice", () => {
      ran = true;
      return "found";
    });
    expect(ran).toBe(true);
    expect(await run).toBe("found");
  });

  test("let look-ups go first, and still continue with one slice of the others", async () => {
    const turns = createReadTurns();
    const done: string[] = [];
    await Promise.all([
      ...reads(turns, "slice", 3, [TURN.rows, 0], () => done.push("slice")),
      ...reads(turns, "one", 6, [TURN.rows / 2, 0], () => done.push("one")),
    ]);
    expect(done.join(" ")).toBe("slice one one slice one one slice one one");
  });

  test("that fail take no other caller's turn", async () => {
    const turns = createReadTurns();
    const outcomes = await Promise.allSettled([
      ...reads(turns, "slice", 2, [TURN.rows, 0], () => {
        throw new Error("broken");
      }),
      ...reads(turns, "slice", 1, [1, 0], () => undefined),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled"]);
  });
});
