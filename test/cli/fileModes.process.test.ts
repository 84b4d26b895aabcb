import { chmod, lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { makePrivateDirectory } from "../../src/features/analytics/embedded/privateDirectory.ts";
import { dataOf } from "../support/api.ts";
import { request } from "../support/envelope.ts";

const OPEN_TO_ALL = 0o777;

let directory: string;
let umask: number;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-modes-"));
  await chmod(directory, OPEN_TO_ALL);
  umask = process.umask(0);
});
afterEach(async () => {
  process.umask(umask);
  await rm(directory, { recursive: true, force: true });
});

/** Finds files below a directory that others than its owner may access. Links have no mode and are left out; `count` is the number of files. */
const openBelow = async (path: string): Promise<{ readonly count: number; readonly open: readonly string[] }> => {
  const names = await readdir(path, { recursive: true });
  const modes = await Promise.all(
    names.map(async (name) => {
      // The engine moves and removes files meanwhile.
      const found = await lstat(join(path, name)).catch(() => undefined);
      return found && !found.isSymbolicLink() && (found.mode & 0o077) !== 0 ? [`${name} ${(found.mode & 0o777).toString(8)}`] : [];
    }),
  );
  return { count: names.length, open: modes.flat() };
};

describe("the files of the service below a data directory that all may enter", () => {
  test("is its owner's alone, with any umask: the store, its log, journal and lock, the root key, the events", async () => {
    await using service = await startService({ env: { ANALYTICS: "embedded" }, dataDir: directory });
    const rootKey = await service.rootKey();
    const call = async (procedure: string, body: object) => dataOf(await request(service.url, procedure, { rootKey, body }));
    const { apiId } = await call("apis.createApi", { name: "modes" });
    const { key } = await call("keys.createKey", {
      apiId,
      ratelimits: [{ name: "requests", limit: 5, duration: 60_000, autoApply: true }],
    });
    await call("keys.verifyKey", { key });
    const query = "SELECT count(*) AS n FROM key_verifications_v1";
    await expect.poll(() => call("analytics.getVerifications", { query })).toEqual([{ n: 1 }]);
    const names = await readdir(directory);
    expect(names).toEqual(expect.arrayContaining(["analytics", "latchkey.sqlite", "latchkey.sqlite-wal", "latchkey.lock", "root-key"]));
    const { count, open } = await openBelow(directory);
    expect(count).toBeGreaterThan(50);
    expect(open).toEqual([]);
    expect(await service.stop()).toBe(0);
    expect((await openBelow(directory)).open).toEqual([]);
  });

  test("is closed when it was made by a version that left it open, and what links lead to is left alone", async () => {
    const events = join(directory, "analytics");
    await mkdir(join(events, "store", "part"), { recursive: true });
    await writeFile(join(events, "store", "part", "data.bin"), "rows");
    await writeFile(join(directory, "other"), "not ours");
    await symlink(join(directory, "other"), join(events, "link"));
    expect((await openBelow(events)).open).toHaveLength(3);
    await makePrivateDirectory(events);
    expect((await lstat(events)).mode & 0o777).toBe(0o700);
    expect((await openBelow(events)).open).toEqual([]);
    expect((await lstat(join(directory, "other"))).mode & 0o777).toBe(0o666);
  });
});
