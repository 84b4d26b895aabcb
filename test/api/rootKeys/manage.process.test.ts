// @same-on-every-engine
import { afterAll, describe, test } from "vitest";
import { runLatchkeyHere } from "../../../bench/harness/commandLine.ts";
import { startService } from "../../../bench/harness/latchkeyProcess.ts";
import { dropMongoDatabase, freshMongoUrl } from "../../../bench/harness/mongoDatabases.ts";
import { expectError } from "../../support/api.ts";
import { type HttpAnswer, request } from "../../support/envelope.ts";
import { onEveryEngine } from "../../support/onEveryEngine.ts";

const places = onEveryEngine<{ readonly name: string; readonly env: { readonly MONGODB_URL?: string } }>(
  { name: "embedded", env: {} },
  (server) => ({ name: "mongo", env: { MONGODB_URL: freshMongoUrl(server) } }),
);
afterAll(async () => {
  for (const { env } of places) if (env.MONGODB_URL !== undefined) await dropMongoDatabase(env.MONGODB_URL);
});

describe.concurrent.each(places)("[protocol §7] the command line next to a running server on $name", ({ env }) => {
  test("a root key is made, changed, revoked and restored, and the server notices", async ({ expect }) => {
    await using service = await startService({ env });
    const command = async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await runLatchkeyHere(["root-key", ...args], { ...env, DATA_DIR: service.dataDir });
      expect([code, code === 0 ? "" : stderr]).toEqual([0, ""]);
      return stdout.trim();
    };
    const key = (await command("create", "--name", "ci", "--permission", "api.*.read_api")).split("\n").at(-1) ?? "";
    expect(key).toMatch(/^lkr_[0-9A-Za-z]{38}$/);
    const id = /rk_\w+(?= +ci )/.exec(await command("list"))?.[0] ?? "";
    expect(id).not.toBe("");

    const getApi = (): Promise<HttpAnswer> => request(service.url, "apis.getApi", { rootKey: key, body: { apiId: "api_nothing1" } });
    const eventually = async (status: number, type: string): Promise<void> => {
      await expect.poll(async () => (await getApi()).body.error?.type, { timeout: 30_000 }).toContain(type);
      expectError(await getApi(), status, type);
    };

    // A new one works at once: nothing about it is cached anywhere.
    expectError(await getApi(), 404, "unkey/data/api_not_found");
    await command("update", id, "--permission", "apis.*.create_api");
    await eventually(403, "unkey/authorization/insufficient_permissions");
    await command("update", id, "--all-permissions");
    await eventually(404, "unkey/data/api_not_found");
    await command("revoke", id, "--yes");
    await eventually(401, "unkey/authentication/key_disabled");
    await command("update", id, "--enable", "--expires", new Date(Date.now() + 8_000).toISOString());
    await eventually(401, "unkey/authentication/key_expired");
    await command("update", id, "--no-expiry");
    await eventually(404, "unkey/data/api_not_found");

    expect(await command("list")).not.toContain(key.slice(8, -4));
    expect(await service.stop()).toBe(0);
    expect(service.output.stderr + service.output.stdout).not.toContain(key.slice(4));
  });
});
