import { StoreDamagedError } from "../../port/errors.ts";
import type { StoreFiles } from "../storeFiles.ts";
import { judgeDatabase } from "./databaseFindings.ts";
import { type Evidence, gatherEvidence } from "./evidence.ts";
import type { Finding } from "./finding.ts";
import { judgeJournal } from "./journalFindings.ts";

export const lockFinding = (file: string): Finding => ({
  kind: "lock",
  file,
  what: "holds something, and should be empty",
  lost: "what it holds, which is nothing of the store",
});

/** What is wrong with the files of a store, the most important first; nothing after an ordinary crash. */
const findingsIn = (evidence: Evidence): readonly Finding[] => {
  const [database, isBasis] = judgeDatabase(evidence);
  // The journal is judged by it.
  return isBasis ? [...database, ...judgeJournal(evidence)] : database;
};

/** The same for files that a service may use, or begin to use at this moment. */
export const findingsBeside = (files: StoreFiles, isUsed: () => boolean): readonly Finding[] => {
  const isAlone = !isUsed();
  const findings = findingsIn(gatherEvidence(files, isAlone));
  return isAlone && findings.length > 0 && isUsed() ? findingsIn(gatherEvidence(files, false)) : findings;
};

/** Rejects files that lack something, before anything is opened for writing. */
export const refuseDamage = (files: StoreFiles, isUsed: () => boolean): void => {
  const [first, ...others] = findingsBeside(files, isUsed);
  if (first !== undefined) throw damageError(first, others.length);
};

/** One sentence about what was found. @param others how many more there are. */
export const damageError = ({ file, what, lost }: Finding, others = 0): StoreDamagedError => {
  const more = others === 0 ? "" : ` (and ${others} more, see "latchkey doctor")`;
  return new StoreDamagedError(`${file} ${what}: put the right file back, or let "latchkey repair" go on without ${lost}${more}`);
};
