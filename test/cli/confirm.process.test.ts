import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "../../bench/harness/commandLine.ts";
import { runLatchkey } from "../../bench/harness/latchkeyProcess.ts";

const main = join(import.meta.dirname, "../../src/main.ts");

// Not every machine has it.
test.runIf(spawnSync("script", ["--version"]).status === 0)("a process asks at its terminal, and where there is none refuses", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "latchkey-terminal-"));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const env = { DATA_DIR: dataDir };
  const { complained } = await runCommand(["root-key", "create", "--name", "till"], env);
  const id = /rk_\w+/.exec(complained.join())?.[0] ?? "";
  const state = async () => (await runCommand(["root-key", "list"], env)).printed.find((line) => line.startsWith(id));

  const atTerminal = async (typed: string) => {
    const command = `'${process.execPath}' '${main}' root-key revoke ${id}`;
    const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
      // No setting of the run of the tests leaks in.
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.write(typed);
    const [shown, [code]] = await Promise.all([text(child.stdout), once(child, "close")]);
    child.stdin.end();
    return { code, shown };
  };
  const refused = await atTerminal("tills\n");
  expect(refused).toEqual({ code: 2, shown: expect.stringContaining("nothing was done: that is not the name") });
  expect(await runLatchkey(["root-key", "revoke", id], env, "till\n")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--yes"),
  });
  expect(await state()).toContain(" enabled ");
  const revoked = await atTerminal("till\n");
  expect(revoked).toEqual({ code: 0, shown: expect.stringMatching(/Type the name to confirm: [\s\S]*Revoked rk_/) });
  expect(await state()).toContain(" revoked ");
});
