/**
 * `npm run bench:keys [-- --keys N] [--mongodb URL] [--rounds N]`: how long management calls take beside so many keys,
 * and what the process needs. The keys are inserted in bulk on an embedded store, or in a database of its own on a MongoDB
 * server. Asserts nothing; the last column says whether a goal was met.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { formatTable } from "../src/cli/table.ts";
import { systemClock } from "../src/domain/clock.ts";
import { createPlace } from "./place.ts";
import { populate } from "./population.ts";
import { serve } from "./targets.ts";

const PAGE = 100;

const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "1000000" },
    mongodb: { type: "string" },
    rounds: { type: "string", default: "30" },
  },
});
const total = Math.min(10_000_000, Math.max(1_000, Math.trunc(Number(values.keys)) || 1_000_000));
const rounds = Math.min(1_000, Math.max(1, Math.trunc(Number(values.rounds)) || 30));

interface Row {
  readonly what: string;
  readonly unit: "ms" | "MB";
  readonly measured: readonly number[];
  /** At most this, by the median; undefined = no goal. */
  readonly goal: number | undefined;
}
const rows: Row[] = [];

/** Milliseconds that each of `times` calls took, one after the other. */
const timed = async (times: number, work: (round: number) => Promise<unknown>): Promise<number[]> => {
  const measured: number[] = [];
  for (let round = 0; round < times; round++) {
    const startedAt = systemClock.monotonic();
    await work(round);
    measured.push(systemClock.monotonic() - startedAt);
  }
  return measured;
};
const measure = async (what: string, goal: number | undefined, times: number, work: (round: number) => Promise<unknown>): Promise<void> => {
  rows.push({ what, unit: "ms", measured: await timed(times, work), goal });
};

/** Megabytes, of /proc/<pid>/status: `VmRSS` now, `VmHWM` at most so far. */
const memory = (pid: number, field: "VmRSS" | "VmHWM"): number => {
  const [, kilobytes = "NaN"] = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1024;
};

const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;

const place = createPlace(values.mongodb);
try {
  const startedAt = systemClock.monotonic();
  const population = await place.withStore((store) => populate(store, { keys: total, identities: total / 5, roles: 2, permissions: 10 }));
  const seconds = (systemClock.monotonic() - startedAt) / 1000;
  console.error(`inserted ${total.toLocaleString("en")} keys in ${seconds.toFixed(0)} s`);

  const { apiId, keyIds, roleIds, permissionIds, identityIds, rootKey, key } = population;
  const spawnedAt = systemClock.monotonic();
  const { server, call } = await serve(place.env, { rootKey });
  rows.push({
    what: "start-up, from the process to the first answer",
    unit: "ms",
    measured: [systemClock.monotonic() - spawnedAt],
    goal: 2_000,
  });
  try {
    const keyAt = (share: number): string => keyIds[Math.min(total - 1, Math.floor(total * share))] ?? "";
    const page = (cursor: string, more: object = {}) => call<readonly unknown[]>("apis.listKeys", { apiId, limit: PAGE, cursor, ...more });
    await call("apis.getApi", { apiId });
    await measure(`apis.listKeys, ${PAGE} from the start`, 20, rounds, () => page(""));
    await measure(`apis.listKeys, ${PAGE} from the middle`, 20, rounds, (round) => page(keyAt(0.5 + round / 1_000)));
    await measure(`apis.listKeys, ${PAGE} near the end`, 20, rounds, (round) => page(keyAt(0.95 + round / 1_000)));
    await measure(`apis.listKeys, ${PAGE} of one identity`, 20, rounds, (round) => page("", { externalId: `bench_user_${round}` }));
    const search = (body: object) => call<readonly unknown[]>("keys.searchKeys", { limit: PAGE, ...body });
    await measure(`keys.searchKeys, ${PAGE} by a name's beginning`, 20, rounds, (round) => search({ query: `KEY ${round % 10}` }));
    await measure(`keys.searchKeys, ${PAGE} by externalId`, 20, rounds, (round) => search({ query: `bench_user_${100 + round}` }));
    await measure("keys.searchKeys, by a text that finds nothing", 20, rounds, (round) => search({ query: `nowhere ${round}` }));
    await measure("keys.getKey", 5, 10 * rounds, (round) => call("keys.getKey", { keyId: keyAt((round * 0.618) % 1) }));
    await measure("keys.verifyKey, the first time", undefined, 1, () => call("keys.verifyKey", { key }));
    let cursor: string | undefined = "";
    const walked = Math.min(total / PAGE, 2_000);
    await measure(`apis.listKeys, ${walked} pages one after the other`, 20, walked, async () => {
      const answer: readonly { readonly keyId: string }[] = await call("apis.listKeys", { apiId, limit: PAGE, cursor });
      cursor = answer.at(-1)?.keyId;
    });
    const meanwhile: number[] = [];
    let searching = true;
    const verifying = (async () => {
      while (searching) meanwhile.push(...(await timed(1, () => call("keys.verifyKey", { key }))));
    })();
    await measure(`identities.listIdentities, search without a hit among ${identityIds.length}`, undefined, Math.min(rounds, 10), () =>
      call("identities.listIdentities", { search: "nowhere" }),
    );
    searching = false;
    await verifying;
    rows.push({ what: "keys.verifyKey while it searches", unit: "ms", measured: meanwhile, goal: 20 });
    rows.push({ what: "memory", unit: "MB", measured: [memory(server.pid, "VmRSS")], goal: 400 });
    rows.push({ what: "memory at most", unit: "MB", measured: [memory(server.pid, "VmHWM")], goal: 400 });
    await measure(`permissions.deleteRole, ${total} keys have it`, 50, 1, () => call("permissions.deleteRole", { role: roleIds[0] }));
    await measure(`permissions.deletePermission, ${total} keys hold it`, 50, 1, () =>
      call("permissions.deletePermission", { permission: permissionIds[9] }),
    );
    await measure(`identities.deleteIdentity, of ${total / 1_000} keys`, 50, 1, () =>
      call("identities.deleteIdentity", { identity: identityIds[0] }),
    );
    await measure(`apis.deleteApi, of ${total} keys`, 50, 1, () => call("apis.deleteApi", { apiId }));
  } finally {
    await server.stop();
  }
} finally {
  await place.remove();
}

const cells = rows.map(({ what, unit, measured, goal }) => [
  what,
  `${median(measured).toFixed(1)} ${unit}`,
  `${Math.max(...measured).toFixed(1)} ${unit}`,
  goal === undefined ? "" : `≤ ${goal} ${unit}`,
  goal === undefined ? "" : median(measured) <= goal ? "met" : "MISSED",
]);
console.log(`${total.toLocaleString("en")} keys, ${place.engine} store, Node ${process.version}`);
console.log(formatTable([["", "median", "at most", "goal", ""], ...cells]).join("\n"));
