/**
 * `npm run bench:import [-- --keys N] [--batch N] [--verify N]`: how long it takes to import hashed keys of another
 * system with keys.migrateKeys, over /v2 and on the embedded store, and to verify each of them once afterwards. Batches
 * are sent one after the other, as a script of an operator would. `--verify` takes a sample of so many keys instead of
 * all. Fails when a key was not imported or does not verify; asserts no time.
 */
import { hash, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { parseArgs } from "node:util";
import { systemClock } from "../src/platform/base/clock.ts";
import { registerMigration } from "./runCommand.ts";
import { type BenchService, startBenchService } from "./targets.ts";

const VERIFYING_CONNECTIONS = 32;

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "100000" },
    batch: { type: "string", default: "1000" },
    verify: { type: "string" },
  },
});
const count = (text: string | undefined, most: number, otherwise: number): number =>
  Math.min(most, Math.max(1, Math.trunc(Number(text)) || otherwise));
const total = count(values.keys, 1_000_000, 100_000);
const batchSize = count(values.batch, 10_000, 1_000);
const sampleSize = values.verify === undefined ? total : count(values.verify, total, total);

interface Migrated {
  readonly migrated: readonly { readonly hash: string }[];
  readonly failed: readonly string[];
}

/** Seconds and processor seconds of the server that `work` took. */
const timed = async ({ server }: BenchService, work: () => Promise<void>): Promise<{ seconds: number; cpu: number }> => {
  const startedAt = systemClock.monotonic();
  const cpuBefore = server.cpuSeconds();
  await work();
  return { seconds: (systemClock.monotonic() - startedAt) / 1000, cpu: server.cpuSeconds() - cpuBefore };
};

const importAll = async ({ call, apiId }: BenchService, migrationId: string, keys: readonly string[]): Promise<void> => {
  const items = keys.map((key, i) => ({ hash: hash("sha256", key, "base64"), name: `key ${i}`, externalId: `user_${i % 1_000}` }));
  for (let from = 0; from < items.length; from += batchSize) {
    const batch = items.slice(from, from + batchSize);
    const { migrated, failed } = await call<Migrated>("keys.migrateKeys", { apiId, migrationId, keys: batch });
    if (migrated.length !== batch.length || failed.length > 0)
      throw new Error(`of ${batch.length} keys ${failed.length} were not imported`);
  }
};

const verifyAll = async ({ url, rootKey }: BenchService, keys: readonly string[]): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: VERIFYING_CONNECTIONS });
  const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
  const verify = (key: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const call = request(`${url}/v2/keys.verifyKey`, { agent, method: "POST", headers }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () => resolve(text));
      });
      call.on("error", reject);
      call.end(JSON.stringify({ key }));
    });
  let next = 0;
  const work = async (): Promise<void> => {
    for (let key = keys[next++]; key !== undefined; key = keys[next++]) {
      const answer = await verify(key);
      if (!answer.includes('"code":"VALID"')) throw new Error(`an imported key does not verify: ${answer}`);
    }
  };
  await Promise.all(Array.from({ length: VERIFYING_CONNECTIONS }, work));
  agent.destroy();
};

const keys = Array.from({ length: total }, () => `old_${randomUUID()}`);
// Spread over all of them.
const sample = keys.filter((_, i) => Math.floor((i * sampleSize) / total) !== Math.floor(((i - 1) * sampleSize) / total));

const service = await startBenchService();
const line = (what: string, keysDone: number, { seconds, cpu }: { seconds: number; cpu: number }): string =>
  `${what} ${keysDone.toLocaleString("en")} keys: ${seconds.toFixed(1)} s, ${Math.round(keysDone / seconds).toLocaleString("en")} keys/s, ` +
  `${((cpu / keysDone) * 1e6).toFixed(0)} µs of the server's processor time each`;
try {
  const migrationId = registerMigration({ DATA_DIR: service.dataDir });
  console.log(line("imported", total, await timed(service, () => importAll(service, migrationId, keys))));
  console.log(line("verified", sample.length, await timed(service, () => verifyAll(service, sample))));
} finally {
  await service.stop();
}
