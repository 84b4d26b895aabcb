import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const main = join(import.meta.dirname, "../../../src/main.ts");

describe("in a shell", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "latchkey-completion-"));
    await writeFile(join(directory, "latchkey"), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  });
  afterAll(() => rm(directory, { recursive: true }));

  const run = async (shell: string, script: string) => {
    const file = join(directory, "script");
    await writeFile(file, script);
    const { stdout } = await promisify(execFile)(shell, [file], { env: { ...process.env, PATH: `${directory}:${process.env.PATH}` } });
    return stdout.trim().split("\n");
  };

  test("bash loads the script and completes with it", async () => {
    const complete = (...words: string[]) =>
      `COMP_WORDS=(latchkey ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _latchkey; echo "\${COMPREPLY[*]}"`;
    const script = [
      "set -eu",
      "source <(latchkey completion bash)",
      "complete -p latchkey",
      complete("keys", "create-"),
      complete("keys", "create-key", "--credits.refill.i"),
      complete("keys", "create-key", "--credits.refill.interval", "=", "d"),
    ];
    expect(await run("bash", script.join("\n"))).toEqual([
      "complete -o default -F _latchkey latchkey",
      "create-key",
      "--credits.refill.interval",
      "daily",
    ]);
  });

  // Not every machine has it.
  test.runIf(spawnSync("zsh", ["--version"]).status === 0)("zsh loads the script and completes with it", async () => {
    const complete = (...words: string[]) =>
      `words=(latchkey ${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length + 1}; _latchkey`;
    const script = [
      "compdef() { print -r -- compdef $*; }",
      "compadd() { shift; print -r -- $*; }",
      "_files() { print files; }",
      "source <(latchkey completion zsh)",
      complete("keys", "create-"),
      complete("root-key", ""),
      complete("keys", "create-key", "--data", ""),
    ];
    expect(await run("zsh", script.join("\n"))).toEqual(["compdef _latchkey latchkey", "create-key", "create list revoke update", "files"]);
  });
});
