/**
 * `npm run bench:sweep [-- --keys N] [--rounds N] [--seconds N] [--mongodb URL]`: what the sweep after a deletion costs those
 * who verify meanwhile. Each round deletes a role that every key holds, the last one their API;
 * loads keys.verifyKey before and during the sweep; and takes the ratio of the two. Asserts nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { formatTable } from "../src/cli/table.ts";
import { systemClock } from "../src/domain/clock.ts";
import { applyLoad } from "./load.ts";
import { createPlace } from "./place.ts";
import { populate } from "./population.ts";
import { serve } from "./targets.ts";

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "100000" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "5" },
    mongodb: { type: "string" },
  },
});
const total = Math.min(1_000_000, Math.max(1_000, Math.trunc(Number(values.keys)) || 100_000));
const rounds = Math.min(20, Math.max(1, Math.trunc(Number(values.rounds)) || 5));
const seconds = Math.min(60, Math.max(1, Math.trunc(Number(values.seconds)) || 5));

const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

const place = createPlace(values.mongodb);
const table: string[][] = [
  ["round", "deletion ms", "without /s", "during /s", "ratio", "p99 without", "p99 during", "swept meanwhile", "sweep s"],
];
const ratios: number[] = [];
try {
  const population = await place.withStore((store) => populate(store, { keys: total, roles: rounds, permissions: 2 }));
  console.error(`inserted ${total.toLocaleString("en")} keys`);
  const { server, url, adminUrl, rootKey, call } = await serve(place.env, { rootKey: population.rootKey });
  try {
    const metric = async (name: string): Promise<number> => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      return [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, "gm"))].reduce((sum, [, value]) => sum + Number(value), 0);
    };
    /** Deletions are swept two minutes later: these are dated back. */
    const dateBack = (collection: "apis" | "roles", id: string): Promise<unknown> =>
      place.withStore((store) => store.collection(collection as "apis").updateOne({ _id: id }, { $set: { sweepFrom: 1 } }));
    const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "verified" });
    const { key } = await call<{ key: string }>("keys.createKey", { apiId, permissions: ["p0", "p1"] });
    const body = Buffer.from(JSON.stringify({ key, permissions: "p0 AND p1" })).toString("base64");
    const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
    const load = (duration: number) =>
      applyLoad({ url: `${url}/v2/keys.verifyKey`, protocol: "http1", headers, body, seconds: duration, connections: 32, streams: 1 });
    await load(2);

    for (let round = 1; round <= rounds; round++) {
      const isApi = round === rounds;
      const [collection, id] = isApi ? (["apis", population.apiId] as const) : (["roles", population.roleIds[round] ?? ""] as const);
      const before = await load(seconds);
      const startedAt = systemClock.monotonic();
      await (isApi ? call("apis.deleteApi", { apiId: id }) : call("permissions.deleteRole", { role: id }));
      const deletion = systemClock.monotonic() - startedAt;
      const sweptBefore = await metric("latchkey_swept_total");
      await dateBack(collection, id);
      while ((await metric("latchkey_swept_total")) === sweptBefore) await sleep(100);
      const sweepAt = systemClock.monotonic();
      const sweptFrom = await metric("latchkey_swept_total");
      const during = await load(seconds);
      const sweptTo = await metric("latchkey_swept_total");
      while ((await metric("latchkey_sweep_due")) > 0) await sleep(250);
      ratios.push(during.perSecond / before.perSecond);
      table.push([
        isApi ? "API" : `role ${round}`,
        deletion.toFixed(1),
        before.perSecond.toFixed(0),
        during.perSecond.toFixed(0),
        (during.perSecond / before.perSecond).toFixed(3),
        before.p99.toFixed(2),
        during.p99.toFixed(2),
        String(sweptTo - sweptFrom),
        ((systemClock.monotonic() - sweepAt) / 1000).toFixed(0),
      ]);
      console.error(table.at(-1)?.join("  "));
    }
  } finally {
    await server.stop();
  }
} finally {
  await place.remove();
}
console.log(`${total.toLocaleString("en")} keys, ${place.engine} store, Node ${process.version}, ${rounds} rounds of 2 × ${seconds} s`);
console.log(formatTable(table).join("\n"));
console.log(`median ratio ${median(ratios).toFixed(3)} (goal: at least 0.9)`);
