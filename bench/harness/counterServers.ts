import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
  // It closes the connection behind its reply.
  socket.end(encode(words));
  await once(socket, "close");
  return reply;
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

/** What a command replied, without its type: an error is thrown. */
const told = (reply: string): string => {
  if (reply.startsWith("-")) throw new Error(reply.trim());
  return reply;
};

/** Resolves when `isTrue` does; asks ten times a second. */
const until = async (isTrue: () => Promise<boolean>): Promise<void> => {
  while (!(await isTrue().catch(() => false))) await sleep(100);
};

/** A primary, a replica of it, and three Sentinels that watch them. */
export interface SentinelTrio extends AsyncDisposable {
  /** `redis+sentinel://…/counters` */
  readonly url: string;
  readonly primary: ServerProcess;
  readonly replica: ServerProcess;
  /** The port of the server that the Sentinels take for the primary. */
  readonly primaryPort: () => Promise<number>;
  /** Has the Sentinels make the replica the primary. */
  readonly failOver: () => Promise<void>;
}

/** @param settings of both servers. */
export const startSentinelTrio = async (settings: readonly string[] = []): Promise<SentinelTrio> => {
  const program = counterServerProgram() ?? "";
  const primary = await startCounterServer({ settings });
  const replica = await startCounterServer({ settings: ["--replicaof", "127.0.0.1", String(primary.port), ...settings] });
  await until(async () => (await replica.command("INFO", "replication")).includes("master_link_status:up"));
  const directory = mkdtempSync(join(tmpdir(), "latchkey-sentinels-"));
  const ports = [await freePort(), await freePort(), await freePort()];
  const sentinels = ports.map((port) => {
    const file = join(directory, `${port}.conf`);
    const monitor = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${directory}`,
      `logfile ${port}.log`,
      `sentinel monitor counters 127.0.0.1 ${primary.port} 2`,
      "sentinel down-after-milliseconds counters 1000",
      "sentinel failover-timeout counters 3000",
    ];
    writeFileSync(file, `${monitor.join("\n")}\n`);
    const child = spawn(program, [file, "--sentinel"], { stdio: "ignore" });
    running.add(child);
    return child;
  });
  const [first = 0] = ports;
  const primaryPort = async (): Promise<number> =>
    Number((await ask(first, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "counters")).split("\r\n")[4]);
  for (const port of ports) {
    await until(async () => /num-other-sentinels\r\n\$1\r\n2\r\n/.test(await ask(port, "SENTINEL", "MASTER", "counters")));
    await until(async () => /num-slaves\r\n\$1\r\n1\r\n/.test(await ask(port, "SENTINEL", "MASTER", "counters")));
  }
  return {
    url: `redis+sentinel://${ports.map((port) => `127.0.0.1:${port}`).join(",")}/counters`,
    primary,
    replica,
    primaryPort,
    failOver: async () => {
      // It may still think of the failover before.
      await until(async () => told(await ask(first, "SENTINEL", "FAILOVER", "counters")) !== "");
      await until(async () => (await primaryPort()) === replica.port);
      await until(async () => (await replica.command("ROLE")).includes("master"));
    },
    [Symbol.asyncDispose]: async () => {
      for (const sentinel of sentinels) {
        const exited = once(sentinel, "exit");
        sentinel.kill("SIGKILL");
        await exited;
        running.delete(sentinel);
      }
      await Promise.all([primary[Symbol.asyncDispose](), replica[Symbol.asyncDispose]()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

/** Three primaries that share the slots. */
export interface CounterCluster extends AsyncDisposable {
  /** `redis+cluster://…` */
  readonly url: string;
  readonly servers: readonly ServerProcess[];
  /** Moves the slot of a key, with what is in it, to another server. */
  readonly moveSlotOf: (key: string) => Promise<void>;
}

/** The server that says that it has a key's slot. */
const ownerOf = async (servers: readonly ServerProcess[], key: string): Promise<ServerProcess> => {
  for (const server of servers) if (!(await server.command("GET", key)).startsWith("-MOVED")) return server;
  throw new Error(`nobody has ${key}`);
};

const SLOTS = 16_384;

export const startCounterCluster = async (): Promise<CounterCluster> => {
  const settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"];
  const servers = await Promise.all([0, 1, 2].map(() => startCounterServer({ settings })));
  const share = Math.ceil(SLOTS / servers.length);
  for (const [i, server] of servers.entries()) {
    const last = Math.min(SLOTS, (i + 1) * share) - 1;
    told(await server.command("CLUSTER", "ADDSLOTSRANGE", String(i * share), String(last)));
    told(await server.command("CLUSTER", "SET-CONFIG-EPOCH", String(i + 1)));
  }
  for (const server of servers) {
    for (const other of servers) if (other !== server) told(await server.command("CLUSTER", "MEET", "127.0.0.1", String(other.port)));
  }
  for (const server of servers) {
    await until(async () => {
      const info = await server.command("CLUSTER", "INFO");
      return info.includes("cluster_state:ok") && info.includes("cluster_slots_ok:16384") && info.includes("cluster_known_nodes:3");
    });
  }
  const idOf = async (server: ServerProcess): Promise<string> => (await server.command("CLUSTER", "MYID")).split("\r\n")[1] ?? "";
  return {
    url: `redis+cluster://${servers.map(({ port }) => `127.0.0.1:${port}`).join(",")}`,
    servers,
    moveSlotOf: async (key) => {
      const from = await ownerOf(servers, key);
      const to = servers.find((server) => server !== from) ?? from;
      const slot = told(await from.command("CLUSTER", "KEYSLOT", key))
        .slice(1)
        .trim();
      const [fromId, toId] = [await idOf(from), await idOf(to)];
      told(await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", fromId));
      told(await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", toId));
      told(await from.command("MIGRATE", "127.0.0.1", String(to.port), key, "0", "1000"));
      for (const server of [to, from]) told(await server.command("CLUSTER", "SETSLOT", slot, "NODE", toId));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
    },
  };
};
