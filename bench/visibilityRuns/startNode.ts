import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { startService } from "../harness/latchkeyProcess.ts";

/** A node in a process of its own. */
export interface NodeProcess {
  readonly url: string;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly exited: Promise<unknown>;
}

/** Starts one that lacks something, see `scriptedNode.ts`, or nothing. */
export const startNode = async (env: Readonly<Record<string, string>>, lacks?: "ears" | "guard"): Promise<NodeProcess> => {
  if (lacks === undefined) {
    const service = await startService({ env });
    return { url: service.url, kill: service.kill, exited: service.exited.then(() => service[Symbol.asyncDispose]()) };
  }
  const child = spawn(process.execPath, [join(import.meta.dirname, "scriptedNode.ts"), lacks], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, PORT: "0", ADMIN_PORT: "0", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const killIt = (): void => void child.kill("SIGKILL");
  process.on("exit", killIt);
  const exited = once(child, "exit").then(() => process.off("exit", killIt));
  const ended = exited.then(() => Promise.reject(new Error(`the node that lacks ${lacks} ended`)));
  ended.catch(() => undefined);
  const [line] = (await Promise.race([once(child.stdout ?? child, "data"), ended])) as [Buffer];
  return { url: line.toString().trim(), kill: (signal) => void child.kill(signal), exited };
};
