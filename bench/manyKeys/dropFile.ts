import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";

/** Of the file's bytes, at most, may be in memory afterwards. */
const MOST_LEFT = 0.02;

/**
 * Has the system forget what it has of a file in memory, beside whoever has it open: `dd` with `iflag=nocache`, which advises
 * POSIX_FADV_DONTNEED. A host that runs this machine may still have it.
 * @returns what keeps that from working here; undefined when it worked
 */
export const dropFile = (file: string): string | undefined => {
  // What has not reached the disk is not forgotten.
  spawnSync("sync", [file]);
  const { status } = spawnSync("dd", [`if=${file}`, "iflag=nocache", "count=0"]);
  if (status !== 0) return "dd knows no iflag=nocache";
  const { stdout, error } = spawnSync("fincore", ["--bytes", "--noheadings", "--output", "RES", file], { encoding: "utf8" });
  if (error !== undefined) return "without fincore nobody knows what is in memory";
  return Number(stdout) <= MOST_LEFT * statSync(file).size ? undefined : `${stdout.trim()} bytes of the file stay in memory`;
};
