// @same-on-every-engine
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embeddedAnalytics } from "../support/analytics.ts";
import { type Api, startApi } from "../support/api.ts";
import { procedureNames } from "../support/edges.ts";
import { registerMigration } from "../support/migrations.ts";
import { engines } from "../support/stores.ts";
import { isNewerThanClients } from "./newerThanClients.ts";

/** A Python that has what `requirements.txt` here names. A newcomer may not have one; where everything is tested, it is there. */
const python = process.env.LATCHKEY_TEST_PYTHON;

/** The last output of the program. */
interface Report {
  readonly succeeded: readonly string[];
  readonly known: readonly string[];
  readonly unrecognised401: Readonly<Record<string, string>>;
  readonly unrecognised429: Readonly<Record<string, string>>;
  readonly calls: number;
}

describe.skipIf(python === undefined).each(engines)("the official Python client on $name", (engine) => {
  let api: Api;
  let blocked: Api;
  let migrationId: string;
  let analytics: ReturnType<typeof embeddedAnalytics>;
  beforeAll(async () => {
    analytics = embeddedAnalytics();
    api = await startApi(engine, { env: { ...analytics.env, ENCRYPTION_KEYS: `first:${Buffer.alloc(32, 7).toString("base64")}` } });
    migrationId = await registerMigration(api.store, "sha256");
    blocked = await startApi(engine, { env: { MANAGEMENT_RATE_LIMIT: "0" } });
  });
  afterAll(async () => {
    await blocked.close();
    await api.close();
    await engine.close();
    analytics.remove();
  });

  test("[protocol §12] drives every procedure, no response fails its checks, and it recognises refusals", async () => {
    const { stdout } = await promisify(execFile)(python ?? "", [join(import.meta.dirname, "unkey_py.py")], {
      env: {
        SERVICE_URL: api.url,
        ROOT_KEY: api.rootKey,
        MIGRATION_ID: migrationId,
        BLOCKED_URL: blocked.url,
        BLOCKED_ROOT_KEY: blocked.rootKey,
      },
    });
    const { succeeded, known, unrecognised401, unrecognised429, calls } = JSON.parse(stdout) as Report;
    expect(known).toEqual(procedureNames.filter((name) => !isNewerThanClients(name)).sort());
    // Of this procedure the client knows no 429, in whatever media type: it raises its general error.
    const unknownToTheClient = { "rootKeys.createKey": expect.stringContaining("status_code=429") };
    expect({ unrecognised401, unrecognised429 }).toEqual({ unrecognised401: {}, unrecognised429: unknownToTheClient });
    expect(succeeded).toEqual(known);
    expect(calls).toBeGreaterThan(known.length * 3);
  });
});
