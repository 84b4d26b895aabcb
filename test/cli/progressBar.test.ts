// @same-on-every-engine
import { expect, test } from "vitest";
import { withCommandContext } from "../../bench/harness/commandLine.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import { auditCommands } from "../../src/cli/commands/auditCommands.ts";
import { createProgressBar } from "../../src/cli/progressBar.ts";
import { storeWithLog } from "../support/auditStore.ts";

const ENTRIES = 1_200;

test("[management §4] a bar grows with what is done, is drawn once for each hundredth, and goes at the end", () => {
  const lines: string[] = [];
  const bar = createProgressBar({ showProgress: (line) => lines.push(line) }, 1_000);
  for (let i = 1; i <= 1_000; i++) bar.reach(i);
  bar.end();
  expect(lines).toHaveLength(102);
  expect(lines[0]).toBe(`[${" ".repeat(30)}]   0 %  1 of 1000`);
  expect(lines[50]).toBe(`[${"#".repeat(15)}${" ".repeat(15)}]  50 %  500 of 1000`);
  expect(lines.slice(-2)).toEqual([`[${"#".repeat(30)}] 100 %  1000 of 1000`, ""]);
});

test("progress beyond the end, or without any work, draws no wrong bar", () => {
  const lines: string[] = [];
  const showProgress = (line: string) => lines.push(line);
  const bar = createProgressBar({ showProgress }, 10);
  bar.reach(-5);
  bar.reach(11);
  expect(lines).toEqual([`[${" ".repeat(30)}]   0 %  -5 of 10`, `[${"#".repeat(30)}] 100 %  11 of 10`]);
  const none = createProgressBar({ showProgress }, 0);
  none.reach(1);
  none.end();
  expect(lines).toHaveLength(2);
});

const run = async (name: string, terminal: Partial<CommandContext>) => {
  const command = auditCommands.find((each) => each.name === name) ?? expect.unreachable();
  const env = await storeWithLog(ENTRIES);
  const shown: string[] = [];
  const { context, output } = withCommandContext(env);
  const code = await command.run([], {
    ...context,
    ...terminal,
    ...("showProgress" in terminal ? { showProgress: (line) => void shown.push(line) } : {}),
  });
  return { code, shown, output };
};
const atTerminal = { showProgress: () => undefined };

test("[management §4] audit verify and audit export show their progress at a terminal, and leave nothing of it", async () => {
  for (const name of ["audit verify", "audit export"]) {
    const { code, shown, output } = await run(name, atTerminal);
    expect([name, code, shown.at(-1), shown.at(-2)]).toEqual([name, 0, "", expect.stringContaining(`100 %  ${ENTRIES} of ${ENTRIES}`)]);
    expect(output.stderr).toBe("");
  }
});

test("audit export shows none where its lines are printed at a terminal, too", async () => {
  expect((await run("audit verify", { ...atTerminal, printsToTerminal: true })).shown).not.toEqual([]);
  expect((await run("audit export", { ...atTerminal, printsToTerminal: true })).shown).toEqual([]);
});
