import { cp, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Finished, runLatchkey, startService } from "../../bench/harness/latchkeyProcess.ts";
import { v2Edge } from "../../bench/harness/v2Edge.ts";
import { expectError } from "../support/api.ts";

const root = join(import.meta.dirname, "../..");
const MISSING = "the optional package chdb (Linux on x64 with glibc) is not installed; run npm ci without --omit=optional";

/** The program as `npm ci --omit=optional` installs it. */
let installed: string;
let program: string;
beforeAll(async () => {
  installed = await mkdtemp(join(tmpdir(), "latchkey-without-engine-"));
  program = join(installed, "src/main.ts");
  for (const copied of ["src", "gen", "package.json"]) await cp(join(root, copied), join(installed, copied), { recursive: true });
  for (const linked of ["docs", "proto", "ui"]) await symlink(join(root, linked), join(installed, linked));
  const modules = join(root, "node_modules");
  await mkdir(join(installed, "node_modules"));
  for (const name of await readdir(modules)) {
    if (["chdb", "@chdb", ".bin", ".cache"].includes(name)) continue;
    await symlink(join(modules, name), join(installed, "node_modules", name));
  }
});
afterAll(() => rm(installed, { recursive: true }));

const latchkey = (args: readonly string[], env: Record<string, string>): Promise<Finished> => runLatchkey(args, env, "", program);

test("with ANALYTICS=embedded the service does not start, and one sentence says what to do", async () => {
  const dataDir = join(installed, "never");
  const env = { DATA_DIR: dataDir, PORT: "0", ADMIN_PORT: "0", ANALYTICS: "embedded" };
  const sentence = `ANALYTICS is embedded, but ${MISSING}`;
  expect(await latchkey(["serve"], env)).toEqual({ code: 2, stdout: "", stderr: `latchkey: ${sentence}\n` });
  expect(await readdir(installed)).not.toContain("never");
  const { code, stdout } = await latchkey(["doctor"], env);
  expect({ code, line: stdout.split("\n").find((each) => each.includes("analytics: ")) }).toEqual({
    code: 1,
    line: `FAIL  analytics: ${sentence}`,
  });
});

test("without ANALYTICS it starts, and says in the log once, in doctor and in its answers why there are none", async () => {
  await using service = await startService({ program, env: { ANALYTICS: undefined } });
  const { call } = v2Edge(service.url);
  const rootKey = await service.rootKey();
  for (const [procedure, body] of [
    ["analytics.getQuota", {}],
    ["analytics.getVerifications", { query: "SELECT count(*) AS n FROM key_verifications_v1" }],
    ["analytics.getUsage", { kind: "verifications", granularity: "total", start: Date.now() - 60_000, end: Date.now() }],
    ["analytics.tail", { kind: "verifications" }],
  ] as const) {
    const { detail } = expectError(await call(procedure, body, rootKey), 412, "unkey/data/analytics_not_configured");
    expect([procedure, detail]).toEqual([procedure, `This deployment has no analytics store: ${MISSING}.`]);
  }
  const told = service.output.stderr.split("\n").filter((line) => line.includes("no analytics"));
  expect(told.map((line) => JSON.parse(line))).toEqual([expect.objectContaining({ msg: "no analytics", level: "info", fix: MISSING })]);
  const { code, stdout } = await latchkey(["doctor"], { DATA_DIR: service.dataDir });
  expect(code).toBe(0);
  expect(stdout).toContain(`ok    analytics: none, and its procedures answer 412: ${MISSING}\n`);
  expect(await latchkey(["analytics", "export", join(installed, "events")], { DATA_DIR: service.dataDir })).toMatchObject({
    code: 5,
    stderr: `latchkey: ${MISSING}, or set CLICKHOUSE_URL\n`,
  });
});
