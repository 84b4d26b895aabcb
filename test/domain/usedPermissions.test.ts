import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createUsedPermissions, type UsedPermissions, type Uses } from "../../src/features/rootKeys/usedPermissions.ts";
import {
  type Action,
  type Caller,
  compileGrants,
  permits,
  requirePermissions,
  unrestrictedGrants,
} from "../../src/platform/authorization/authorization.ts";

const HOUR = 3_600_000;

const open = (permissions?: readonly string[]) => {
  const written: [string, Uses][] = [];
  let fails = false;
  const used = createUsedPermissions({
    write: async (uses) => {
      if (fails) throw new Error("away");
      for (const [rootKeyId, ofOne] of uses) written.push([rootKeyId, new Map(ofOne)]);
    },
    onError: () => undefined,
  });
  const grants = permissions === undefined ? unrestrictedGrants : compileGrants(permissions);
  const caller = { rootKeyId: "rk_1", name: undefined, expires: undefined, grants };
  const use = (action: Action, id: string, now: number): void => {
    const calling = used.open(caller, now);
    requirePermissions(calling, [action, id]);
    calling.succeed();
  };
  return {
    ...{ used, use, caller, written },
    setFails: (to: boolean) => {
      fails = to;
    },
  };
};

test("[management §5] a permission is written once an hour, however often it is used", async () => {
  const { used, use, written } = open(["api.*.read_api", "api.api_1.read_api"]);
  for (let i = 0; i < 10; i++) use("api.read_api", "api_2", 10 * HOUR + i);
  use("api.read_api", "api_1", 10 * HOUR + 20);
  await used.stop();
  use("api.read_api", "api_3", 11 * HOUR - 1);
  await used.stop();
  use("api.read_api", "api_3", 11 * HOUR);
  await used.stop();
  expect(written.map(([id, uses]) => [id, ...uses])).toEqual([
    ["rk_1", ["api.*.read_api", 10 * HOUR], ["api.api_1.read_api", 10 * HOUR + 20]],
    ["rk_1", ["api.*.read_api", 11 * HOUR]],
  ]);
});

test("[management §5] nothing of a call that does not succeed, nor of what was not held", async () => {
  const { used, caller, written } = open(["api.*.read_api"]);
  requirePermissions(used.open(caller, 1), ["api.read_api", "api_1"]);
  const calling = used.open(caller, 1);
  expect(permits(calling, "api.read_key", "api_1")).toBe(false);
  calling.succeed();
  await used.stop();
  expect(written).toEqual([]);
});

test("[management §5] a failed write is written with the next", async () => {
  const { used, use, written, setFails } = open();
  use("api.read_api", "api_1", 1);
  setFails(true);
  await used.stop();
  setFails(false);
  use("api.read_key", "api_1", 2);
  await used.stop();
  expect(written.map(([, uses]) => [...uses.keys()].sort())).toEqual([["api.*.read_api", "api.*.read_key"]]);
});

const callerOf = (rootKeyId: string): Caller => ({ rootKeyId, name: undefined, expires: undefined, grants: unrestrictedGrants });

const useBy = (used: UsedPermissions, rootKeyId: string): void => {
  const calling = used.open(callerOf(rootKeyId), HOUR);
  requirePermissions(calling, ["api.read_api", "api_1"]);
  calling.succeed();
};

test("[management §5] fifty root keys are one write", async () => {
  const sizes: number[] = [];
  const used = createUsedPermissions({ write: async (uses) => void sizes.push(uses.size), onError: () => undefined });
  for (let i = 0; i < 101; i++) useBy(used, `rk_${i}`);
  await used.stop();
  expect(sizes).toEqual([50, 50, 1]);
});

describe("a stop", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("[management §5] begins no further write after 5 s, tells the one that runs, and says that something is lost", async () => {
    const begun: AbortSignal[] = [];
    const gate = Promise.withResolvers<void>();
    const errors: unknown[] = [];
    const used = createUsedPermissions({
      write: async (_, { signal }) => {
        begun.push(signal);
        await gate.promise;
      },
      onError: (error) => errors.push(error),
    });
    for (let i = 0; i < 120; i++) useBy(used, `rk_${i}`);
    const stopped = used.stop();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(begun.map(({ aborted }) => aborted)).toEqual([false]);
    await vi.advanceTimersByTimeAsync(1);
    expect(begun.map(({ aborted }) => aborted)).toEqual([true]);
    gate.resolve();
    await stopped;
    expect([begun.length, errors]).toEqual([1, [new Error("uses of permissions could not be written in time")]]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
