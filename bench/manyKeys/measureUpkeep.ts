import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { runMeasured, type Taken } from "../runMeasured.ts";
import { type Beside, withService } from "./beside.ts";
import type { ResultRow } from "./resultRows.ts";

interface Measured {
  readonly backup: Taken;
  readonly backupBytes: number;
  readonly verify: Taken;
}

const measure = (beside: Beside): Promise<Measured> =>
  withService(beside, async () => {
    const env = { LOG_LEVEL: "error", ...beside.place.env };
    const file = join(beside.place.env.DATA_DIR ?? "", "bench.backup");
    try {
      const backup = await runMeasured(["backup", file], env);
      const backupBytes = statSync(file).size;
      return { backup, backupBytes, verify: await runMeasured(["audit", "verify"], env) };
    } finally {
      rmSync(file, { force: true });
    }
  });

/** Nearly all that is in a backup. */
const documentsOf = ({ population, entries }: Beside["filled"]): number => population.keys + population.identityIds.length + entries;

/** A backup, and a check of the audit log, each by the command line beside a service. */
export const measureUpkeep = async (all: readonly Beside[], growth: number): Promise<readonly ResultRow[]> => {
  const measured: Measured[] = [];
  for (const beside of all) measured.push(await measure(beside));
  const row = (what: string, unit: string, pick: (each: Measured, of: Beside["filled"]) => number, isBounded = true): ResultRow => ({
    what,
    unit,
    values: measured.map((each, i) => pick(each, (all[i] as Beside).filled)),
    ...(isBounded ? { goal: { growth } } : {}),
  });
  return [
    row("backup", "s", ({ backup }) => backup.seconds, false),
    row("for each document", "µs", ({ backup }, filled) => (backup.seconds / documentsOf(filled)) * 1e6),
    row("the backup, for each document", "bytes", ({ backupBytes }, filled) => backupBytes / documentsOf(filled)),
    row("its memory at most", "MB", ({ backup }) => backup.megabytes),
    row("audit verify, of a tenth as many entries", "s", ({ verify }) => verify.seconds, false),
    row("for each entry", "µs", ({ verify }, { entries }) => (verify.seconds / entries) * 1e6),
    row("its memory at most", "MB", ({ verify }) => verify.megabytes),
  ];
};
