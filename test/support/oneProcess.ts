import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { matchesGlob } from "node:path";
import { afterAll, expect } from "vitest";
import { processFiles } from "./suites.ts";

/** Those that this file starts and does not wait for on the spot, as it does for `openssl` or `git`. */
const started: ChildProcess[] = [];
const note = (message: unknown): void => void started.push((message as { readonly process: ChildProcess }).process);

subscribe("child_process", note);

// Files that start processes need seconds for each and are a run of their own. The message below names it.
afterAll(() => {
  unsubscribe("child_process", note);
  if (matchesGlob(expect.getState().testPath ?? "", `**/${processFiles}`)) return;
  expect(
    started.map(({ spawnargs }) => spawnargs.join(" ")),
    "a file that starts processes ends in .process.test.ts, and runs with `npm run test:processes`",
  ).toEqual([]);
});
