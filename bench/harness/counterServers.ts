import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./freePort.ts";

/** The server programs that may be installed, the preferred one first. */
const PROGRAMS = ["valkey-server", "redis-server"] as const;

const isInstalled = (program: string): boolean => {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

let found: string | undefined;

/** The server program on the path, which `COUNTER_SERVER_PROGRAM` may name instead; undefined where there is none. */
export const counterServerProgram = (): string | undefined => {
  found ??= process.env.COUNTER_SERVER_PROGRAM ?? PROGRAMS.find(isInstalled);
  return found;
};

/** Servers that run now: none outlives the tests, also when one of them was given up. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** One server as a process of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly port: number;
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
  /** Sends one command on a connection of its own; the reply, or the error, as the protocol writes it. */
  readonly command: (...words: readonly string[]) => Promise<string>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** SIGKILL; resolves when it is gone. */
  readonly end: () => Promise<void>;
  /** Starts it again on the same port and files. */
  readonly restart: () => Promise<void>;
}

const encode = (words: readonly string[]): string =>
  `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;

/** What the server answers to one command, until it closes the connection. */
const ask = async (port: number, ...words: readonly string[]): Promise<string> => {
  const socket = connect(port, "127.0.0.1");
  let reply = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    reply += chunk;
  });
  socket.write(encode(words) + encode(["QUIT"]));
  await once(socket, "close");
  return reply.replace(/\+OK\r\n$/, "");
};

const isUp = async (port: number): Promise<boolean> => {
  try {
    return /^(\+PONG|-NOAUTH)/.test(await ask(port, "PING"));
  } catch {
    return false;
  }
};

export interface CounterServerOptions {
  /** Further settings, as on the command line: `["--maxmemory", "5mb"]`. */
  readonly settings?: readonly string[];
  readonly port?: number;
  /** It cannot be asked in clear text: it is up when its port takes connections. */
  readonly isTls?: boolean;
}

/** Starts a server on a free port of the loopback interface. It keeps nothing on disk unless `settings` say so. */
export const startCounterServer = async ({
  settings = [],
  port: wanted,
  isTls = false,
}: CounterServerOptions = {}): Promise<ServerProcess> => {
  const program = counterServerProgram();
  if (program === undefined) throw new Error(`none of ${PROGRAMS.join(", ")} is on the path`);
  const port = wanted ?? (await freePort());
  const directory = mkdtempSync(join(tmpdir(), "latchkey-counters-"));
  const args = ["--bind", "127.0.0.1", "--dir", directory, "--save", "", "--appendonly", "no", "--logfile", "log"];
  const listening = isTls ? ["--port", "0", "--tls-port", String(port)] : ["--port", String(port)];
  let child: ChildProcess;
  let exited: Promise<unknown>;

  const start = async (): Promise<void> => {
    const started = spawn(program, [...listening, ...args, ...settings], { cwd: directory, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [started.stdout, started.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    child = started;
    running.add(started);
    exited = once(started, "exit").then(() => running.delete(started));
    const reaches = async (): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
        socket.on("connect", () => socket.destroy());
      });
    while (!(await (isTls ? reaches() : isUp(port)))) {
      if (started.exitCode !== null) throw new Error(`${program} ended with ${started.exitCode}: ${output}`);
      await sleep(20);
    }
  };
  const end = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };

  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: (...words) => ask(port, ...words),
    kill: (signal) => void child.kill(signal),
    end,
    restart: start,
    [Symbol.asyncDispose]: async () => {
      await end();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
