import { describe, expect, test } from "vitest";
import { AnswerTooLargeError } from "../../src/features/analytics/engineErrors.ts";
import { readRows } from "../../src/features/analytics/resultRows.ts";

const ROWS = 20_000;
const result = `["a"]\n["UInt8"]\n${"[1]\n".repeat(ROWS)}`;
const shown = Array.from({ length: ROWS }, () => ({ a: 1 }));

describe("[analytics §1] the rows of a result", () => {
  test("are objects by the names of their columns", async () => {
    expect(await readRows('["a","__proto__"]\n["Date","String"]\n["2026-01-02","2026-01-02"]\n', 1_000)).toEqual([
      Object.fromEntries([
        ["a", "2026-01-02T00:00:00Z"],
        ["__proto__", "2026-01-02"],
      ]),
    ]);
    expect(await readRows('["a"]\n["UInt8"]\n', 2)).toEqual([]);
  });

  test("may have exactly the allowed number of bytes, including the column names in each row", async () => {
    const bytes = JSON.stringify(shown).length;
    expect(await readRows(result, bytes)).toEqual(shown);
    await expect(readRows(result, bytes - 1)).rejects.toThrow(AnswerTooLargeError);
  });

  test("are read in turns with other work", async () => {
    let turns = 0;
    let reading = true;
    const count = (): void => {
      turns++;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    await readRows(result, 1_000_000);
    reading = false;
    expect(turns).toBeGreaterThan(10);
  });
});
