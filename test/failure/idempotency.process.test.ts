import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { serveHere } from "../../bench/harness/commandLine.ts";
import { type RunningService, startService } from "../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../bench/harness/mongoDatabases.ts";
import { createRootKeyOn } from "../../bench/harness/placed.ts";
import { dataOf } from "../support/api.ts";
import { type HttpAnswer, request } from "../support/envelope.ts";
import { onEveryEngine } from "../support/onEveryEngine.ts";
import { sized } from "../support/sized.ts";

const post = (service: RunningService, rootKey: string, procedure: string, body: unknown, key?: string): Promise<HttpAnswer> =>
  request(service.url, procedure, { rootKey, body, ...(key === undefined ? {} : { headers: { "idempotency-key": key } }) });

/** Twenty at once, spread over the processes; those that a killed process leaves without an answer are left out. */
const storm = async (services: readonly RunningService[], rootKey: string, body: unknown, key: string): Promise<HttpAnswer[]> => {
  const calls = Array.from({ length: 20 }, (_, i) =>
    post(services[i % services.length] as RunningService, rootKey, "keys.createKey", body, key),
  );
  return (await Promise.allSettled(calls)).flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
};

const expectOneKey = async (service: RunningService, rootKey: string, apiId: unknown, answers: readonly HttpAnswer[]): Promise<void> => {
  const [first] = answers.map(dataOf);
  for (const answer of answers) expect(dataOf(answer)).toEqual(first);
  expect(dataOf(await post(service, rootKey, "apis.listKeys", { apiId }))).toEqual([expect.objectContaining({ keyId: first?.keyId })]);
  expect(dataOf(await post(service, rootKey, "keys.verifyKey", { key: first?.key }))).toMatchObject({ valid: true });
};

const newCall = async (service: RunningService, rootKey: string) => {
  const { apiId } = dataOf(await post(service, rootKey, "apis.createApi", { name: "api" }));
  return {
    apiId,
    key: crypto.randomUUID(),
    body: { apiId, permissions: [`read.${crypto.randomUUID()}`], externalId: crypto.randomUUID() },
  };
};

/** Milliseconds between the first of the calls and the kill. */
const delays = sized([8, 30], [1, 4, 8, 15, 30]);

const killedOnEmbedded = async (): Promise<void> => {
  const dataDir = await mkdtemp(join(tmpdir(), "latchkey-killed-"));
  try {
    for (const delay of delays) {
      await using service = await startService({ dataDir });
      const rootKey = await service.rootKey();
      const { apiId, body, key } = await newCall(service, rootKey);
      const calls = storm([service], rootKey, body, key);
      await sleep(delay);
      service.kill("SIGKILL");
      const answers = await calls;
      await service.exited;
      await using next = await serveHere(dataDir);
      answers.push(await post(next, rootKey, "keys.createKey", body, key));
      await expectOneKey(next, rootKey, apiId, answers);
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
};

const killedOnMongo = async (server: string): Promise<void> => {
  const env = { MONGODB_URL: freshMongoUrl(server) };
  try {
    const rootKey = await createRootKeyOn(env);
    await using survivor = await startService({ env });
    for (const delay of [...delays, 2_000]) {
      await using victim = await startService({ env });
      const { apiId, body, key } = await newCall(survivor, rootKey);
      const calls = storm([victim, survivor], rootKey, body, key);
      await sleep(delay);
      victim.kill("SIGKILL");
      const answers = await calls;
      answers.push(await post(survivor, rootKey, "keys.createKey", body, key));
      await expectOneKey(survivor, rootKey, apiId, answers);
    }
  } finally {
    await dropMongoDatabase(env.MONGODB_URL);
  }
};

const placed = onEveryEngine(
  { name: "a create whose process is killed makes one key and gives one answer on the embedded store", run: killedOnEmbedded },
  (server) => ({
    name: "twenty creates at once on two processes with one MongoDB, and one more after one is killed, make one key and give one answer",
    run: () => killedOnMongo(server),
  }),
);

for (const { name, run } of placed) test.concurrent(`[protocol §2] ${name}`, run);
