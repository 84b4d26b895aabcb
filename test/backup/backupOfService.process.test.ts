import { join } from "node:path";
import { expect, test } from "vitest";
import { runLatchkeyHere, serveHere } from "../../bench/harness/commandLine.ts";
import { startService } from "../../bench/harness/latchkeyProcess.ts";
import { checkBackup } from "../../src/operations/backup/checkBackup.ts";
import { dieInRestore } from "../support/dieInRestore.ts";
import { procedureCaller } from "../support/procedureCaller.ts";
import { freshDirectory, places } from "../support/storePlaces.ts";

test("[data §1] the data of a running service is restored into each engine and back, and serves as before", async () => {
  await using service = await startService();
  const rootKey = await service.rootKey();
  const call = procedureCaller(service.url, rootKey);
  const { apiId } = await call("apis.createApi", { name: "payments" });
  await call("identities.createIdentity", { externalId: "acme", meta: { plan: "pro" } });
  await call("permissions.createRole", { name: "admin" });
  const issue = { apiId, externalId: "acme", permissions: ["invoices.read"], roles: ["admin"], meta: { "😀": null } };
  const { keyId, key } = await call("keys.createKey", { ...issue, name: "näme", credits: { remaining: 10 } });
  const deleted = await call("keys.createKey", { apiId });
  await call("keys.deleteKey", { keyId: deleted.keyId });
  await call("keys.verifyKey", { key, permissions: "invoices.read" });
  const limit = { namespace: "sms", identifier: "acme", limit: 10, duration: 3_600_000 };
  for (let spent = 0; spent < 7; spent++) await call("ratelimit.limit", limit);

  const directory = await freshDirectory();
  const file = join(directory, "one.backup");
  const taken = await runLatchkeyHere(["backup", file], { DATA_DIR: service.dataDir });
  expect(taken).toMatchObject({ code: 0, stdout: expect.stringMatching(/one\.backup: \d+ documents of the embedded store/) });
  const again = await runLatchkeyHere(["backup", file], { DATA_DIR: service.dataDir });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("exists already: name another file") });
  const { end } = await checkBackup(file);
  expect(end.tallies).toMatchObject({ keys: { documents: 2 }, counters: { documents: 1 }, identities: { documents: 1 } });

  for (const [engine, make] of places) {
    const target = await make();
    const restored = await runLatchkeyHere(["restore", file], target.env);
    expect([engine, restored]).toMatchObject([engine, { code: 0, stdout: expect.stringContaining("restored and compared"), stderr: "" }]);
    expect(restored.stdout).toMatch(/audit log: \d+ entr(y|ies), whole, head [0-9a-f]{64}/);
    expect(await runLatchkeyHere(["restore", file], target.env)).toMatchObject({
      code: 5,
      stderr: expect.stringContaining("is not empty"),
    });

    const back = join(directory, `${engine}.backup`);
    expect(await runLatchkeyHere(["backup", back], target.env)).toMatchObject({ code: 0, stderr: "" });
    expect((await checkBackup(back)).end.tallies).toEqual(end.tallies);

    await using next = await serveHere(target.env.DATA_DIR, { env: target.env });
    const ask = procedureCaller(next.url, rootKey);
    expect(await ask("keys.verifyKey", { key, permissions: "invoices.read" })).toMatchObject({ valid: true, credits: 8, keyId });
    expect(await ask("ratelimit.limit", limit)).toMatchObject({ success: true, remaining: 2 });
    expect(await ask("identities.getIdentity", { identity: "acme" })).toMatchObject({ meta: { plan: "pro" } });
    expect(await runLatchkeyHere(["audit", "verify"], target.env)).toMatchObject({ code: 0 });
    await next.stop();
  }
});

test("[data §1] import copies an embedded store into each engine by one command, and continues after an interruption", async () => {
  await using service = await startService();
  const call = procedureCaller(service.url, await service.rootKey());
  const { apiId } = await call("apis.createApi", { name: "moved" });
  const { key } = await call("keys.createKey", { apiId });
  const from = ["--from-data-dir", service.dataDir];
  const beside = { DATA_DIR: join(await freshDirectory(), "beside") };
  const warned = await runLatchkeyHere(["import", ...from, "--file", `${beside.DATA_DIR}.backup`], beside);
  expect(warned).toMatchObject({ code: 0, stderr: expect.stringContaining(`a service is running on ${service.dataDir}`) });
  await service.stop();
  for (const [, make] of places) {
    const target = await make();
    const file = join(target.env.DATA_DIR, "..", `import-${Math.random()}.backup`);
    expect(await runLatchkeyHere(["backup", file], { DATA_DIR: service.dataDir })).toMatchObject({ code: 0 });
    const named = await runLatchkeyHere(["import", ...from, "--file", file], target.env);
    expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining("exists already: name another file") });
    // As if the process had been killed in its second half.
    await dieInRestore(await target.open("restore"), file, { isImport: true });
    const imported = await runLatchkeyHere(["import", ...from, "--file", file], target.env);
    expect(imported).toMatchObject({ code: 0, stderr: "" });
    expect(imported.stdout).toContain("is there: going on with it");
    await expect(checkBackup(file)).rejects.toThrow("ENOENT");
    await using next = await serveHere(target.env.DATA_DIR, { env: target.env });
    expect(await procedureCaller(next.url, await service.rootKey())("keys.verifyKey", { key })).toMatchObject({ valid: true });
    await next.stop();
  }
});
