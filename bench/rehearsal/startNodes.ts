import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../harness/freePort.ts";
import { type ServiceProcess, startService } from "../harness/latchkeyProcess.ts";
import { eventually } from "./startProgram.ts";

/** One node, which keeps its ports when it is started again. */
export interface RehearsedNode {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  readonly adminAddress: string;
  readonly start: () => Promise<void>;
  /** Sends SIGTERM and waits for its end. Resolves to what was not as promised. */
  readonly stop: () => Promise<readonly string[]>;
  /** Sends SIGKILL. Resolves to when it was gone, in milliseconds of `performance.now()`. */
  readonly kill: () => Promise<number>;
}

export interface RehearsedNodes extends AsyncDisposable {
  readonly nodes: readonly RehearsedNode[];
}

/** The flags with which the image runs node. */
const nodeOptions = (): string => {
  const found = /NODE_OPTIONS=(\S+)/.exec(readFileSync(join(import.meta.dirname, "../../deploy/Dockerfile"), "utf8"))?.[1];
  if (found === undefined) throw new Error("deploy/Dockerfile sets no NODE_OPTIONS any more");
  return found;
};

/** Whether a page answers 200; false as well when nothing answers. */
const isFine = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

/** Three nodes of the program as the image runs it, on one MongoDB database. */
export const startNodes = async (mongodbUrl: string): Promise<RehearsedNodes> => {
  const running = new Set<ServiceProcess>();
  const options = nodeOptions();

  const createNode = async (): Promise<RehearsedNode> => {
    const [port, adminPort] = [await freePort(), await freePort()];
    const [address, adminAddress] = [`127.0.0.1:${port}`, `127.0.0.1:${adminPort}`];
    let service: ServiceProcess | undefined;
    const current = (): ServiceProcess => {
      if (service === undefined) throw new Error(`the node ${address} does not run`);
      return service;
    };
    const gone = async (): Promise<void> => {
      running.delete(current());
      await current()[Symbol.asyncDispose]();
      service = undefined;
    };
    return {
      address,
      adminAddress,
      start: async () => {
        service = await startService({
          env: {
            NODE_ENV: "production",
            NODE_OPTIONS: options,
            PORT: String(port),
            ADMIN_PORT: String(adminPort),
            MONGODB_URL: mongodbUrl,
            TRUSTED_PROXIES: "127.0.0.1",
            SHUTDOWN_DELAY: "2",
          },
        });
        running.add(service);
      },
      stop: async () => {
        const problems: string[] = [];
        const ended = current().stop();
        await eventually("a node that is told to stop is not ready any more", 10, async () =>
          (await isFine(`http://${adminAddress}/readyz`)) ? undefined : true,
        );
        if (!(await isFine(`http://${address}/v2/liveness`))) problems.push("a node that was not ready any more served no call");
        const code = await ended;
        if (code !== 0) problems.push(`a node that was told to stop ended with ${code}: ${current().output.stderr}`);
        await gone();
        return problems;
      },
      kill: async () => {
        current().kill("SIGKILL");
        await current().exited;
        const at = performance.now();
        await gone();
        return at;
      },
    };
  };

  const nodes = [await createNode(), await createNode(), await createNode()];
  const dispose = async (): Promise<void> => {
    await Promise.all(Array.from(running, (service) => service[Symbol.asyncDispose]()));
  };
  try {
    // One first, so that it alone makes the indexes.
    for (const node of nodes) await node.start();
  } catch (error) {
    await dispose();
    throw error;
  }
  return { nodes, [Symbol.asyncDispose]: dispose };
};
