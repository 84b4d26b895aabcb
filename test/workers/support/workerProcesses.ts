import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { expect } from "vitest";
import type { ServiceProcess } from "../../../bench/harness/latchkeyProcess.ts";
import { eventually } from "../../support/eventually.ts";

/** The processes that a process has started, by the number of the worker that they are. */
export const workersOf = ({ pid }: Pick<ServiceProcess, "pid">): Map<number, number> => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  return new Map(
    children.map((child) => [Number(/LATCHKEY_WORKER=(\d+)/.exec(readFileSync(`/proc/${child}/environ`, "utf8"))?.[1]), child]),
  );
};

export const isRunning = (pid: number): boolean => {
  try {
    // A process that has ended but was not reaped is a zombie.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

/** The log lines of a service. */
export const linesOf = ({ output }: Pick<ServiceProcess, "output">): Record<string, unknown>[] =>
  output.stderr
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

interface Answer {
  readonly data: Record<string, unknown>;
  readonly requestId: string;
  /** The server closes the connection behind it. */
  readonly isLast: boolean;
}

/** A caller with one connection, which it opens again when it is lost. */
export interface Caller extends Disposable {
  /** Rejects when the connection ends before the answer. */
  readonly call: (procedure: string, body: object) => Promise<Answer>;
}

/** A caller whose connection is known to be at one worker. */
export interface PlacedCaller extends Caller {
  readonly worker: number;
}

export const createCaller = ({ url }: Pick<ServiceProcess, "url">, rootKey: string): Caller => {
  const options = { keepAlive: true, maxSockets: 1, rejectUnauthorized: false };
  const [agent, request] = url.startsWith("https:") ? [new SecureAgent(options), secureRequest] : [new PlainAgent(options), plainRequest];
  return {
    [Symbol.dispose]: () => agent.destroy(),
    call: async (procedure, body) => {
      const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
      const asked = request(`${url}/v2/${procedure}`, { method: "POST", agent, headers });
      asked.end(JSON.stringify(body));
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      expect([response.statusCode, text]).toEqual([200, expect.any(String)]);
      const { data, meta } = JSON.parse(text) as { data: Record<string, unknown>; meta: { requestId: string } };
      return { data, requestId: meta.requestId, isLast: response.headers.connection === "close" };
    },
  };
};

/** This number of callers of a service that logs its calls (`LOG_LEVEL=debug`). */
export const createPlacedCallers = (service: ServiceProcess, rootKey: string, count: number): Promise<PlacedCaller[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const caller = createCaller(service, rootKey);
      const { requestId } = await caller.call("apis.createApi", { name: "who" });
      return {
        ...caller,
        worker: await eventually(() => {
          const worker = linesOf(service).find((line) => line.requestId === requestId)?.worker;
          expect(worker).toBeDefined();
          return worker as number;
        }),
      };
    }),
  );
