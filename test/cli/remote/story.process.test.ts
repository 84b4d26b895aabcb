import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runLatchkeyHere } from "../../../bench/harness/commandLine.ts";
import { type Finished, runLatchkey, startService } from "../../../bench/harness/latchkeyProcess.ts";

test("a newcomer gets from an empty store to the reason of a denial and its fix by the command line alone", async () => {
  await using service = await startService();
  /** As beside the service that `latchkey serve` started here. */
  const here = { DATA_DIR: service.dataDir, PORT: new URL(service.url).port };
  const shown: string[] = [];
  const given: string[] = [];
  const latchkey = async (
    line: string,
    { env = here, input }: { env?: Record<string, string>; input?: string } = {},
  ): Promise<Finished> => {
    const args = line.split(" ");
    given.push(...args);
    // A command that reads standard input runs in a process of its own, as in a shell.
    const finished = await (input === undefined ? runLatchkeyHere(args, env) : runLatchkey(args, env, input));
    shown.push(finished.stdout, finished.stderr);
    return finished;
  };
  const word = ({ stdout }: Finished, name: string): string => new RegExp(`^${name} +(\\S+)$`, "m").exec(stdout)?.[1] ?? "";

  expect(await latchkey("apis list-apis")).toEqual({ code: 0, stdout: "", stderr: "0 rows\n" });
  const apiId = word(await latchkey("apis create-api --name payments"), "apiId");
  const created = await latchkey(
    `keys create-key --api-id ${apiId} --prefix pay --name Alice --permissions invoices.read --credits.remaining 100`,
  );
  const [keyId, key] = [word(created, "keyId"), word(created, "key")];
  expect([keyId, key]).toEqual([expect.stringMatching(/^key_/), expect.stringMatching(/^pay_/)]);
  const query = "--permissions invoices.write";

  const denied = await latchkey(`keys verify-key --key - ${query}`, { input: `${key}\n` });
  expect([denied.code, word(denied, "valid"), word(denied, "code")]).toEqual([8, "false", "INSUFFICIENT_PERMISSIONS"]);

  const explained = await latchkey(`keys explain --key-id ${keyId} ${query}`);
  expect(explained.code).toBe(0);
  expect(explained.stdout).toMatch(/^ {2}permissions +failed .*invoices\.write/m);
  expect(explained.stdout).toMatch(/^suggestions\n.*\n.*invoices\.write/m);
  const { suggestions } = JSON.parse((await latchkey(`keys explain --key-id ${keyId} ${query} --json`)).stdout);
  const mend = join(service.dataDir, "mend.json");
  await writeFile(mend, JSON.stringify(suggestions[0].updateKey));
  expect(await latchkey(`keys update-key --data @${mend}`)).toEqual({ code: 0, stdout: "", stderr: "Done.\n" });
  const passed = await latchkey(`keys verify-key --key - ${query}`, { input: `${key}\n` });
  expect([passed.code, word(passed, "valid"), word(passed, "credits")]).toEqual([0, "true", "99"]);

  const rootKey = word(await latchkey("root-keys create-key --name till --permissions api.*.verify_key"), "key");
  const till = { LATCHKEY_URL: service.url, LATCHKEY_ROOT_KEY: rootKey };
  expect((await latchkey(`keys verify-key --key - ${query}`, { env: till, input: key })).code).toBe(0);
  const refused = await latchkey("apis list-apis --limit 1", { env: till });
  expect(refused.stdout).toBe("");
  const forbidden = await latchkey("apis create-api --name other", { env: till });
  expect(forbidden).toMatchObject({ code: 3, stdout: "" });
  expect(forbidden.stderr).toMatch(/^latchkey: .*api\.\*\.create_api.*\n$/);

  // Each secret was shown by the call that made it, and by nothing else; none was an argument.
  for (const secret of [key, rootKey]) {
    expect(given.join(" ")).not.toContain(secret);
    expect(shown.join("").split(secret)).toHaveLength(2);
  }
  expect(shown.join("")).not.toContain(await service.rootKey());
  expect(service.output.stderr).not.toContain(key);
});
