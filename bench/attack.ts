/**
 * `npm run attack [-- --only NAME[,NAME]] [--seconds N] [--url URL --root-key KEY [--pid N]]`: what one caller can do to the
 * others. Starts the service on one core, the attackers on another, and for each attack prints how long the calls of somebody
 * else take before, during and after it, the memory of the service before, at most, and 10 s after, and what the attacker
 * was answered. Asserts nothing. With MONGODB_URL the service keeps its state there, in a database of its own; with --url
 * a service is attacked that runs already, as a root key that holds every permission.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { AttackTarget } from "./attacks/attack.ts";
import { attacks } from "./attacks/attacks.ts";
import type { PoliteCalls, Politeness } from "./attacks/politeClient.ts";
import { runClient } from "./processes.ts";
import { startAt, startBenchService } from "./targets.ts";

/** How long others are measured before and after, in seconds. */
const REFERENCE_SECONDS = 3;
/** Nothing is to be kept so long after an attack, in milliseconds. */
const AFTERMATH = 10_000;
const SAMPLE_EVERY = 100;
const PER_SECOND = 200;

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    seconds: { type: "string", default: "6" },
    url: { type: "string" },
    "root-key": { type: "string" },
    pid: { type: "string" },
  },
});
const seconds = Math.min(60, Math.max(2, Math.trunc(Number(values.seconds)) || 6));
const wanted = values.only?.split(",");
const unknown = wanted?.filter((name) => !attacks.some((attack) => attack.name === name)) ?? [];
if (unknown.length > 0)
  throw new Error(`there is no attack ${unknown.join(", ")}; there are ${attacks.map(({ name }) => name).join(", ")}`);

interface Victim {
  readonly url: string;
  readonly rootKey: string;
  readonly pid: number | undefined;
  readonly stop: () => Promise<void>;
}

const startVictim = async (): Promise<Victim> => {
  if (values.url !== undefined) {
    if (values["root-key"] === undefined) throw new Error("--url needs --root-key");
    return {
      url: values.url.replace(/\/$/, ""),
      rootKey: values["root-key"],
      pid: Number(values.pid) || undefined,
      stop: async () => undefined,
    };
  }
  const service = process.env.MONGODB_URL === undefined ? await startBenchService() : await startAt(process.env.MONGODB_URL);
  return { url: service.url, rootKey: service.rootKey, pid: service.server.pid, stop: service.stop };
};

const victim = await startVictim();
const call = async <T>(procedure: string, body: object): Promise<T> => {
  const headers = { authorization: `Bearer ${victim.rootKey}`, "content-type": "application/json" };
  const response = await fetch(`${victim.url}/v2/${procedure}`, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as { data: T };
  if (response.status !== 200) throw new Error(`${procedure}: ${JSON.stringify(answer)}`);
  return answer.data;
};

/** Resident memory, in MiB; not known of a service elsewhere. */
const memory = (): number | undefined => {
  if (victim.pid === undefined) return undefined;
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${victim.pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
};

const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "attacked" });
const { key } = await call<{ key: string }>("keys.createKey", { apiId });
const made = await call<{ key: string; keyId: string }>("rootKeys.createKey", { name: "attacker", permissions: ["api.*.read_api"] });

const { hostname, port } = new URL(victim.url);
const target: AttackTarget = { url: victim.url, host: hostname, port: Number(port), rootKey: victim.rootKey, useless: made.key };
const client = (name: string, request: object): Promise<string> =>
  runClient(process.execPath, [`${import.meta.dirname}/attacks/${name}.ts`, JSON.stringify(request)]);
const beOthers = async (forSeconds: number): Promise<Politeness> => {
  const calls: PoliteCalls = {
    url: `${victim.url}/v2/keys.verifyKey`,
    rootKey: victim.rootKey,
    body: JSON.stringify({ key }),
    perSecond: PER_SECOND,
    seconds: forSeconds,
  };
  return JSON.parse(await client("politeClient", calls)) as Politeness;
};

const milliseconds = ({ p99, failed, calls }: Politeness): string =>
  `${p99.toFixed(1)}${failed > 0 ? ` (${failed} of ${calls} failed)` : ""}`;
const megabytes = (value: number | undefined): string => (value === undefined ? "?" : value.toFixed(0));

console.log("| Attack | Others' p99 before, ms | during | after | Memory before, MiB | at most | after 10 s | Answers |");
console.log("|---|--:|--:|--:|--:|--:|--:|---|");
try {
  await beOthers(REFERENCE_SECONDS);
  for (const { name, description } of attacks) {
    if (wanted !== undefined && !wanted.includes(name)) continue;
    console.error(`${name}: ${description}`);
    const before = await beOthers(REFERENCE_SECONDS);
    const memoryBefore = memory();
    let most = memoryBefore ?? 0;
    const sampling = setInterval(() => {
      most = Math.max(most, memory() ?? 0);
    }, SAMPLE_EVERY);
    const attacking = client("attacker", { name, target, seconds: seconds + 1 });
    // The attackers need a moment to begin.
    await sleep(1_000);
    const during = await beOthers(seconds - 1);
    const answers = JSON.parse(await attacking) as Record<string, number>;
    const over = sleep(AFTERMATH);
    const after = await beOthers(REFERENCE_SECONDS);
    await over;
    clearInterval(sampling);
    const outcomes = Object.entries(answers).map(([outcome, times]) => `${outcome}: ${times}`);
    const cells = [name, milliseconds(before), milliseconds(during), milliseconds(after), megabytes(memoryBefore)];
    cells.push(megabytes(victim.pid && most), megabytes(memory()), outcomes.join(", ") || "none");
    console.log(`| ${cells.join(" | ")} |`);
  }
} finally {
  await call("rootKeys.deleteKey", { keyId: made.keyId }).catch(() => undefined);
  await victim.stop();
}
