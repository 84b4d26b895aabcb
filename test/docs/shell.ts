import { spawn } from "node:child_process";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import type { CommandSocket } from "./commandSocket.ts";

const root = join(import.meta.dirname, "../..");
const END = "--- end of a block ---";

/** Runs what npm would run: starting npm itself takes longer than most commands. The service has a process of its own, which a page can end. */
const npmRun = `npm() {
  [ "$1 $2 $3 $4" = "run --silent latchkey --" ] || { command npm "$@"; return; }
  shift 4
  [ "\${1-}" = serve ] || { latchkey_here "$@"; return; }
  ${packageJson.scripts.latchkey} "$@"
}`;

/** One shell in the root of the repository, as someone has it who pastes blocks one after the other. */
export interface Shell extends Disposable {
  /** Runs commands and resolves to what they print on standard output, trimmed. Rejects, and the shell ends, when one of them fails. */
  readonly run: (commands: string) => Promise<string>;
}

/**
 * Starts `sh`. Its variables reach the programs that it starts; the Node of the repository is the first on its path.
 * @param commands run `latchkey`.
 */
export const startShell = (env: NodeJS.ProcessEnv, commands: CommandSocket): Shell => {
  const path = `${join(root, "node_modules/.bin")}:${process.env.PATH}`;
  const child = spawn("sh", [], { cwd: root, env: { ...env, PATH: path }, stdio: "pipe" });
  let stdout = "";
  let stderr = "";
  let wake = (): void => undefined;
  let ended = false;
  child.stdin.on("error", () => undefined);
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.on("close", () => {
    ended = true;
    wake();
  });
  child.stdin.write(`set -eua\n${commands.shellFunction}\n${npmRun}\n`);
  return {
    run: async (commands) => {
      stdout = "";
      stderr = "";
      child.stdin.write(`{\n${commands}\n} </dev/null\nprintf '\\n%s\\n' '${END}'\n`);
      while (!stdout.includes(END)) {
        if (ended) throw new Error(`these commands failed:\n${commands}\n${stdout}\n${stderr}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return stdout.slice(0, stdout.indexOf(END)).trim();
    },
    [Symbol.dispose]: () => {
      child.kill("SIGKILL");
    },
  };
};
