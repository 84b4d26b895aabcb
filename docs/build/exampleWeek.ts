/** A week of a small company that sells two APIs, for pictures that show what a service in use looks like. */

import pMap from "p-map";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Calls at the same time: few, so that the latencies which the pictures show are those of a service that has room. */
const concurrency = 2;

/** Calls a procedure of the service and resolves to `data`. Rejects when the answer is no 200. */
export type Call = <T>(procedure: string, body: unknown) => Promise<T>;

interface Created {
  readonly keyId: string;
  readonly key: string;
}

/** What a picture opens. */
export interface ExampleWeek {
  /** Up to here, in Unix ms, there are a few events an hour; behind it some every second. */
  readonly until: number;
  /** Of the busiest key. */
  readonly keyId: string;
  /** Verifies some key now. */
  readonly verify: (seed: number) => Promise<unknown>;
}

const customers = ["acme", "globex", "initech", "umbrella", "hooli", "stark", "wayne", "wonka", "tyrell", "cyberdyne"];

/** A number from 0 to 1 that is the same in every run. */
const noise = (seed: number): number => {
  const value = Math.sin(seed * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
};

/** How busy an hour is, from 0 to 1: nights and weekends are quiet. */
const traffic = (time: number): number => {
  const date = new Date(time);
  const weekend = [0, 6].includes(date.getUTCDay()) ? 0.45 : 1;
  return weekend * (0.25 + 0.75 * Math.max(0, Math.sin(((date.getUTCHours() - 5) / 16) * Math.PI)));
};

const createKeys = async (call: Call, apiId: string): Promise<Created[]> => {
  const keys: Created[] = [];
  for (const [index, customer] of customers.entries())
    keys.push(
      await call<Created>("keys.createKey", {
        apiId,
        prefix: "maps",
        name: `${customer} production`,
        externalId: customer,
        meta: { plan: index % 3 === 0 ? "enterprise" : "pro" },
        roles: [index % 3 === 0 ? "editor" : "viewer"],
        ...(index % 2 === 0 && {
          credits: { remaining: 25_000 + 4000 * index, refill: { interval: "monthly", amount: 50_000, refillDay: 1 } },
        }),
        ratelimits: [{ name: "requests", limit: 50, duration: 60_000, autoApply: true }],
      }),
    );
  return keys;
};

/**
 * Makes APIs, roles, keys and customers, and the events of the seven days before now, on a service with a test clock.
 * Takes some fifteen thousand calls; the clock shows the present time at the end.
 */
export const fillExampleWeek = async (call: Call): Promise<ExampleWeek> => {
  const end = Date.now();
  await call("testing.setTime", { time: end - 7 * DAY });
  await call("permissions.createRole", { name: "viewer", permissions: ["tiles.read", "routes.read"] });
  await call("permissions.createRole", { name: "editor", permissions: ["tiles.*", "routes.*", "invoices.read"] });
  const { apiId } = await call<{ apiId: string }>("apis.createApi", { name: "Maps" });
  await call("apis.createApi", { name: "Weather" });
  const keys = await createKeys(call, apiId);
  await call("keys.updateKey", { keyId: keys[1]?.keyId, expires: end + 3 * DAY });

  const verify = (seed: number): Promise<unknown> => {
    // The first customers are the busiest.
    const { key } = keys[Math.floor(noise(seed) ** 2 * keys.length)] ?? { key: "" };
    const permissions = noise(seed + 0.5) < 0.03 ? "invoices.write" : "tiles.read";
    return call("keys.verifyKey", { key, permissions, tags: [noise(seed + 0.25) < 0.6 ? "path=/tiles" : "path=/routes"] });
  };
  const limit = (seed: number): Promise<unknown> =>
    call("ratelimit.limit", {
      namespace: seed % 3 === 0 ? "sign-up" : "login",
      identifier: `203.0.113.${Math.floor(noise(seed) * 20)}`,
      limit: 3,
      duration: MINUTE,
    });
  const busy = async (time: number, verifications: number): Promise<void> => {
    await call("testing.setTime", { time });
    const seed = time / MINUTE;
    const calls = [
      ...Array.from({ length: verifications }, (_, index) => () => verify(seed + index * 7.3)),
      ...Array.from({ length: Math.ceil(verifications / 8) }, (_, index) => () => limit(Math.floor(seed) + index)),
    ];
    await pMap(calls, (one) => one(), { concurrency });
  };
  for (let time = end - 7 * DAY; time < end - 2 * HOUR; time += HOUR)
    await busy(time, Math.round(50 * traffic(time) + 8 * noise(time / HOUR)));
  for (let time = Date.now() - HOUR; time < Date.now(); time += MINUTE) await busy(time, Math.round(110 + 60 * noise(time / MINUTE)));
  await call("testing.setTime", { time: Date.now() });
  // What needs somebody's attention.
  await call("keys.updateCredits", { keyId: keys[4]?.keyId, operation: "set", value: 80 });
  await call("keys.updateKey", { keyId: keys[9]?.keyId, enabled: false });
  return { until: end - 2 * HOUR, keyId: keys[0]?.keyId ?? "", verify };
};
