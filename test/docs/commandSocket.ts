import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { runLatchkeyHere } from "../../bench/harness/commandLine.ts";

/** Where shells have `latchkey` run in this process. A process of its own for each command takes longer to load than to run. */
export interface CommandSocket extends AsyncDisposable {
  /** Defines the shell function `latchkey_here`, which takes the arguments of `latchkey`. Its service is for a process of its own. */
  readonly shellFunction: string;
}

/** Parses a request of the shell: its variables, an empty text, the number of arguments and the arguments, each ended by NUL; then its input. */
const parse = (sent: Buffer): { readonly env: Record<string, string>; readonly args: readonly string[]; readonly input: string } => {
  let at = 0;
  const next = (): string => {
    const end = sent.indexOf(0, at);
    if (end === -1) throw new Error("the command ends before its arguments do");
    const text = sent.toString("utf8", at, end);
    at = end + 1;
    return text;
  };
  const env: Record<string, string> = {};
  for (let variable = next(); variable !== ""; variable = next()) {
    const name = variable.split("=", 1)[0] ?? "";
    env[name] = variable.slice(name.length + 1);
  }
  const args = Array.from({ length: Number(next()) }, next);
  return { env, args, input: sent.toString("utf8", at) };
};

/** Runs a command here. Its output goes into the files `stdout` and `stderr` of the shell's directory, which the path of the request names. */
const runHere = async (request: IncomingMessage): Promise<number> => {
  const { env, args, input } = parse(await buffer(request));
  const { code, stdout, stderr } = await runLatchkeyHere(args, env, input);
  const directory = request.url ?? "";
  await Promise.all([writeFile(join(directory, "stdout"), stdout), writeFile(join(directory, "stderr"), stderr)]);
  return code;
};

export const openCommandSocket = async (): Promise<CommandSocket> => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-commands-"));
  const path = join(directory, "socket");
  const server = createServer((request, response) => {
    runHere(request).then(
      (code) => response.end(String(code)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await once(server.listen(path), "listening");
  return {
    // In a shell of its own, so that its variables are not those of the page. Where nothing answers, `exit` gets no number and fails.
    shellFunction: `latchkey_here() (
  here=$(mktemp -d)
  code=$({ env -0; printf '\\0%s\\0' $#; [ $# = 0 ] || printf '%s\\0' "$@"; cat; } |
    curl --silent --show-error --fail --unix-socket '${path}' --data-binary @- "http://latchkey$here")
  cat "$here/stdout"
  cat "$here/stderr" >&2
  rm -r "$here"
  exit "$code"
)`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await rm(directory, { recursive: true });
    },
  };
};
