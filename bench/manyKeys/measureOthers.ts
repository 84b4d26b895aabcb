import { median, percentile } from "../median.ts";
import { memoryOf } from "../processes.ts";
import { type Beside, withService } from "./beside.ts";
import type { Goal, ResultRow } from "./resultRows.ts";
import { timed } from "./timed.ts";

const PAGE = 100;
const PAGES = 500;
const SEARCHES = 10;

interface Other {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly goal: Goal;
}

/** Changes the store: roles and identities of many keys are deleted. */
const measure = (beside: Beside): Promise<readonly Other[]> =>
  withService(beside, async ({ server, call }) => {
    const { apiId, keys, key, identityIds, roleIds, permissionIds } = beside.filled.population;
    const others: Other[] = [];
    let cursor: string | undefined = "";
    const walked = await timed(Math.min(keys / PAGE / 2, PAGES), async () => {
      const answer: readonly { readonly keyId: string }[] = await call("apis.listKeys", { apiId, limit: PAGE, cursor });
      cursor = answer.at(-1)?.keyId;
    });
    others.push({ what: `apis.listKeys, up to ${PAGES} pages one after the other`, unit: "ms", value: median(walked), goal: { most: 20 } });
    const meanwhile: number[] = [];
    let searching = true;
    const verifying = (async () => {
      while (searching) meanwhile.push(...(await timed(1, () => call("keys.verifyKey", { key }))));
    })();
    const searched = await timed(SEARCHES, () => call("identities.listIdentities", { search: "nowhere" })).finally(() => {
      searching = false;
    });
    await verifying;
    const among = identityIds.length.toLocaleString("en");
    others.push({
      what: `identities.listIdentities, search without a hit among ${among}`,
      unit: "ms",
      value: median(searched),
      goal: { growth: 2 },
    });
    others.push({ what: "keys.verifyKey while it searches, p50", unit: "ms", value: median(meanwhile), goal: { most: 20 } });
    others.push({ what: "keys.verifyKey while it searches, p99", unit: "ms", value: percentile(meanwhile, 0.99), goal: { growth: 2 } });
    others.push({ what: "memory at most", unit: "MB", value: memoryOf(server.pid, "VmHWM"), goal: { most: 400 } });
    const once = async (what: string, procedure: string, body: object): Promise<void> => {
      const [value = Number.NaN] = await timed(1, () => call(procedure, body));
      others.push({ what, unit: "ms", value, goal: { most: 50 } });
    };
    await once("permissions.deleteRole, nine tenths of all keys have it", "permissions.deleteRole", { role: roleIds[0] });
    await once("permissions.deletePermission, nine tenths hold it", "permissions.deletePermission", { permission: permissionIds[1] });
    await once("identities.deleteIdentity, of one in 42 keys", "identities.deleteIdentity", { identity: identityIds[0] });
    await once("apis.deleteApi, of six tenths of all keys", "apis.deleteApi", { apiId });
    return others;
  });

/** Other management calls beside each size. */
export const measureOthers = async (all: readonly Beside[]): Promise<readonly ResultRow[]> => {
  const measured: (readonly Other[])[] = [];
  for (const beside of all) measured.push(await measure(beside));
  return (measured[0] ?? []).map(({ what, unit, goal }, i) => ({ what, unit, goal, values: measured.map((others) => others[i]?.value) }));
};
