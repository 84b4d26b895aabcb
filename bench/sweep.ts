/**
 * `npm run bench:sweep [-- --keys N] [--rounds N] [--seconds N] [--mongodb URL]`: what the sweep after a deletion costs those
 * who verify meanwhile. A role that every key holds is deleted, then the API of all these keys; while each is swept, rounds
 * load keys.verifyKey with the sweep held up and going on, in turn, and take the ratio of the two. Asserts nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "../src/platform/base/clock.ts";
import { formatTable } from "../src/platform/util/table.ts";
import { applyLoad } from "./load.ts";
import { median } from "./median.ts";
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

/** A lease that outlasts the benchmark, and that no service takes for its own. */
const held = { holder: "bench", expires: Number.MAX_SAFE_INTEGER };
/** A service notices within its next renewal that its lease is gone, and looks for work again within seconds. */
const NOTICED_MS = 4_000;

const place = createPlace(values.mongodb);
const table: string[][] = [["", "held up /s", "going on /s", "ratio", "p99 ms held up", "p99 ms going on", "swept meanwhile"]];
const ratios: number[] = [];
try {
  const population = await place.withStore((store) => populate(store, { keys: total, roles: 1, permissions: 2 }));
  console.error(`inserted ${total.toLocaleString("en")} keys`);
  const { server, url, adminUrl, rootKey, call } = await serve(place.env, { rootKey: population.rootKey });
  try {
    const metric = async (name: string): Promise<number> => {
      const text = await (await fetch(`${adminUrl}/metrics`)).text();
      return [...text.matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, "gm"))].reduce((sum, [, value]) => sum + Number(value), 0);
    };
    const swept = (): Promise<number> => metric("latchkey_swept_total");
    const hold = async (): Promise<void> => {
      await place.withStore((store) => store.collection("leases").updateOne({ _id: "sweep" }, { $set: held }, { upsert: true }));
      await sleep(NOTICED_MS);
    };
    const goOn = async (): Promise<void> => {
      const before = await swept();
      await place.withStore((store) => store.collection("leases").deleteOne({ _id: "sweep" }));
      while ((await swept()) === before) await sleep(100);
    };
    const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "verified" });
    const { key } = await call<{ key: string }>("keys.createKey", { apiId, permissions: ["p0", "p1"] });
    const body = Buffer.from(JSON.stringify({ key, permissions: "p0 AND p1" })).toString("base64");
    const headers = { authorization: `Bearer ${rootKey}`, "content-type": "application/json" };
    const load = () =>
      applyLoad({ url: `${url}/v2/keys.verifyKey`, protocol: "http1", headers, body, seconds, connections: 32, streams: 1 });
    await load();

    const deletions = [
      { what: "role", collection: "roles", id: population.roleIds[0] ?? "", procedure: "permissions.deleteRole", field: "role" },
      { what: "API", collection: "apis", id: population.apiId, procedure: "apis.deleteApi", field: "apiId" },
    ] as const;
    for (const { what, collection, id, procedure, field } of deletions) {
      const calledAt = systemClock.monotonic();
      await call(procedure, { [field]: id });
      console.log(`${procedure}, ${total.toLocaleString("en")} keys: ${(systemClock.monotonic() - calledAt).toFixed(1)} ms`);
      await hold();
      // What was deleted is swept two minutes later: this is dated back.
      await place.withStore((store) => store.collection(collection as "apis").updateOne({ _id: id }, { $set: { sweepFrom: 1 } }));
      for (let round = 1; round <= rounds; round++) {
        const without = await load();
        await goOn();
        const from = await swept();
        const during = await load();
        const count = (await swept()) - from;
        if (round < rounds) await hold();
        const ratio = during.perSecond / without.perSecond;
        ratios.push(ratio);
        const numbers = [without.perSecond.toFixed(0), during.perSecond.toFixed(0), ratio.toFixed(3)];
        table.push([`${what} ${round}`, ...numbers, without.p99.toFixed(2), during.p99.toFixed(2), String(count)]);
        console.error(table.at(-1)?.join("  "));
      }
      const goesOnAt = systemClock.monotonic();
      const left = await swept();
      while ((await metric("latchkey_sweep_due")) > 0) await sleep(250);
      const perSecond = ((await swept()) - left) / ((systemClock.monotonic() - goesOnAt) / 1000);
      console.log(`without load the sweep takes ${perSecond.toFixed(0)} keys a second`);
    }
  } finally {
    await server.stop();
  }
} finally {
  await place.remove();
}
console.log(
  `${total.toLocaleString("en")} keys, ${place.engine} store, Node ${process.version}, ${rounds} rounds of 2 × ${seconds} s each`,
);
console.log(formatTable(table).join("\n"));
console.log(`median ratio ${median(ratios).toFixed(3)} (goal: at least 0.9)`);
