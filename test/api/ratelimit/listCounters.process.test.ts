import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { serveHere } from "../../../bench/harness/commandLine.ts";
import { type RunningService, startService } from "../../../bench/harness/latchkeyProcess.ts";
import { v2Edge } from "../../../bench/harness/v2Edge.ts";
import { dataOf } from "../../support/api.ts";

const MONTH = 2_592_000_000;

test("[management §3] counters of the embedded store are listed after kill -9, and the lost budget counts as used", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "latchkey-counters-"));
  const call = async (service: RunningService, procedure: string, body: object): Promise<Record<string, unknown>> =>
    dataOf(await v2Edge(service.url).call(procedure, body, await service.rootKey()));
  const list = (service: RunningService) => call(service, "ratelimit.listCounters", { namespace: "killed" });
  const names = ["a", "b", "c"];
  try {
    const service = await startService({ dataDir });
    const check = { namespace: "killed", duration: MONTH };
    for (const [i, identifier] of names.entries()) {
      for (let n = 0; n <= i; n++) await call(service, "ratelimit.limit", { ...check, identifier, limit: 10 });
    }
    await call(service, "ratelimit.limit", { ...check, identifier: "held", limit: 1_000 });
    const counter = (identifier: string, current: number, held = 0) => ({
      ...{ identifier, duration: MONTH, current, previous: 0, held },
      reset: expect.any(Number),
    });
    const counted = names.map((identifier, i) => counter(identifier, i + 1));
    await expect.poll(() => list(service), { timeout: 5_000 }).toEqual([...counted, counter("held", 8, 7)]);
    service.kill("SIGKILL");
    await service.exited;
    await using again = await serveHere(dataDir);
    expect(await list(again)).toEqual([...counted, counter("held", 8)]);
    await call(again, "ratelimit.limit", { ...check, identifier: "b", limit: 10 });
    await expect
      .poll(() => list(again), { timeout: 5_000 })
      .toEqual([counter("a", 1), counter("b", 3), counter("c", 3), counter("held", 8)]);
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});
