import { afterAll, beforeAll } from "vitest";
import { type ServerProcess, startCounterServer } from "../../../bench/harness/counterServers.ts";
import type { CounterServer } from "../../../src/platform/storage/port/counterServer.ts";
import { connectCounterServer, describeOnCounterServer } from "../../support/counterServers.ts";
import { testCounters } from "../contract/counters.ts";

describeOnCounterServer("the counters of a Valkey or Redis server", () => {
  let process: ServerProcess;
  let server: CounterServer;
  beforeAll(async () => {
    process = await startCounterServer();
    server = await connectCounterServer(process.url, { time: "request" });
  });
  afterAll(async () => {
    await server?.close();
    await process?.[Symbol.asyncDispose]();
  });

  testCounters(() => server.counters);
});
