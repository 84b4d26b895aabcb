import { expect } from "vitest";
import type { Answer } from "../../bench/harness/v2Edge.ts";
import { expectError } from "./api.ts";
import type { Run } from "./everywhere.ts";

/** A root key as listKeys shows it. */
export interface ShownRootKey {
  readonly keyId: string;
  readonly name: string | null;
  readonly start: string;
  readonly end: string;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  readonly expires: number | null;
  readonly permissions: readonly string[];
  readonly usedPermissions: readonly { readonly permission: string; readonly lastUsedAt: number }[];
}

/** The answer of procedures that issue a root key. */
export interface IssuedRootKey {
  readonly keyId: string;
  readonly key: string;
}

/** Calls of the rootKeys procedures over the edge of a run. */
export interface RootKeyCalls {
  /** One that holds `api.*.read_api` unless `fields` say otherwise. */
  readonly create: (fields?: object, rootKey?: string) => Promise<IssuedRootKey>;
  readonly reroll: (keyId: string, expiration: number | null, rootKey?: string) => Promise<IssuedRootKey>;
  /** All pages. */
  readonly list: (rootKey?: string) => Promise<ShownRootKey[]>;
  readonly shown: (keyId: string) => Promise<ShownRootKey>;
  /** Reads an API that does not exist: 404 for a caller who is authenticated and may read. */
  readonly use: (key: string) => Promise<Answer>;
  readonly expectAccepted: (key: string) => Promise<void>;
  readonly expectRefused: (key: string, reason: string) => Promise<void>;
}

export const rootKeyCalls = (run: Run): RootKeyCalls => {
  const list: RootKeyCalls["list"] = async (rootKey) => {
    const all: ShownRootKey[] = [];
    for (let cursor = ""; ; ) {
      const { body } = await run.call("rootKeys.listKeys", { cursor }, rootKey);
      all.push(...(body.data as ShownRootKey[]));
      if (body.pagination?.cursor === undefined) return all;
      cursor = body.pagination.cursor;
    }
  };
  const use: RootKeyCalls["use"] = (key) => run.call("apis.getApi", { apiId: "api_nothing1" }, key);
  const issued = async (procedure: string, body: object, rootKey?: string): Promise<IssuedRootKey> =>
    (await run.data(procedure, body, rootKey)) as unknown as IssuedRootKey;
  return {
    create: (fields = {}, rootKey) => issued("rootKeys.createKey", { permissions: ["api.*.read_api"], ...fields }, rootKey),
    reroll: (keyId, expiration, rootKey) => issued("rootKeys.rerollKey", { keyId, expiration }, rootKey),
    list,
    shown: async (keyId) => (await list()).find((each) => each.keyId === keyId) ?? expect.unreachable(keyId),
    use,
    expectAccepted: async (key) => void expectError(await use(key), 404, "unkey/data/api_not_found"),
    expectRefused: async (key, reason) => void expectError(await use(key), 401, `unkey/authentication/${reason}`),
  };
};

/** Asserts a 400 with a violation at each of these places, in this order. */
export const expectInvalid = (answer: Answer, ...locations: readonly string[]): void => {
  const { errors = [] } = expectError(answer, 400, "unkey/application/invalid_input");
  expect(errors.map(({ location }) => location)).toEqual(locations);
};
