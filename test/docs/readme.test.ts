import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServiceProcess, startService } from "../../bench/harness/latchkeyProcess.ts";
import packageJson from "../../package.json" with { type: "json" };
import { exitCodes } from "../../src/cli/command.ts";
import { configVariables } from "../../src/config/loadConfig.ts";

const root = join(import.meta.dirname, "../..");
const readme = readFileSync(join(root, "README.md"), "utf8");

/** The text under a heading, up to the next one of the same or a higher level. */
const section = (heading: string): string => {
  const level = /^#+/.exec(heading)?.[0].length ?? 1;
  const start = readme.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`README has no ${heading}`);
  const rest = readme.slice(start + heading.length + 2);
  const end = rest.search(new RegExp(`^#{1,${level}} `, "m"));
  return end < 0 ? rest : rest.slice(0, end);
};

interface Example {
  readonly commands: string;
  /** The answer that README shows under the commands. */
  readonly answer: unknown;
}

const examplesIn = (text: string): Example[] => {
  const examples: Example[] = [];
  for (const [, language, body = ""] of text.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (language === "sh") examples.push({ commands: body, answer: undefined });
    const last = examples.pop();
    if (last) examples.push(language === "json" ? { ...last, answer: JSON.parse(body) } : last);
  }
  return examples;
};

/** README's values as expectations: `api_…` stands for any text that begins so, a time for any time. */
const expectation = (shown: unknown, name = ""): unknown => {
  if (name === "reset") return typeof shown === "string" ? expect.stringMatching(/^\d{13}$/) : expect.any(Number);
  if (typeof shown === "string") return shown.endsWith("…") ? expect.stringMatching(new RegExp(`^${shown.slice(0, -1)}\\w+$`)) : shown;
  if (Array.isArray(shown)) return shown.map((item) => expectation(item));
  if (typeof shown !== "object" || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([key, value]) => [key, expectation(value, key)]));
};

const SEPARATOR = "--- end of an example ---";

/** Runs what npm would run: starting npm itself takes longer than most commands. */
const npmRun = `npm() {
  [ "$1 $2 $3 $4" = "run --silent latchkey --" ] || { command npm "$@"; return; }
  shift 4
  PATH="$PWD/node_modules/.bin:$PATH" ${packageJson.scripts.latchkey} "$@"
}`;

/** Runs the commands of all examples in one shell, as someone would who pastes them one after the other. */
const run = async (examples: readonly Example[], service: ServiceProcess): Promise<string[]> => {
  const script = ["set -eu", npmRun, ...examples.flatMap(({ commands }) => [commands, `echo; echo '${SEPARATOR}'`])]
    .join("\n")
    .replaceAll("localhost:3000", new URL(service.url).host)
    .replaceAll(/\bdata\/(?:test\/)?/g, `${service.dataDir}/`);
  // A newcomer has no MongoDB: the commands work on the store of the service that was started for them.
  const { MONGODB_URL: _, ...env } = process.env;
  const { stdout } = await promisify(execFile)("sh", ["-c", script], { cwd: root, env: { ...env, DATA_DIR: service.dataDir } });
  return stdout.split(SEPARATOR).map((output) => output.trim());
};

/** Runs `examples` behind `before` and compares each answer with the one that README shows. Resolves to what each printed. */
const expectAnswers = async (before: readonly Example[], examples: readonly Example[], service: ServiceProcess): Promise<string[]> => {
  const outputs = (await run([...before, ...examples], service)).slice(before.length);
  for (const [i, { answer, commands }] of examples.entries())
    if (answer !== undefined) expect({ commands, answer: JSON.parse(outputs[i] ?? "") }).toEqual({ commands, answer: expectation(answer) });
  return outputs;
};

let service: ServiceProcess;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service[Symbol.asyncDispose]());

const setUp = examplesIn(section("## Use").split("\n### ", 1)[0] ?? "");
// A newcomer may not have grpcurl; where the whole suite must pass, it is there.
const hasGrpcurl = process.env.CI !== undefined || spawnSync("grpcurl", ["-version"]).status === 0;

describe.each(["### With curl", ...(hasGrpcurl ? ["### With gRPC"] : [])])("%s", (heading) => {
  test("the commands give the answers shown", async () => {
    const examples = examplesIn(section(heading));
    expect(examples.filter(({ answer }) => answer !== undefined).length).toBeGreaterThan(3);
    await expectAnswers(setUp, examples, service);
  });
});

test("the commands for analytics tell of what the others did", async () => {
  await using own = await startService({ env: { ANALYTICS: "embedded" } });
  const keyId = { commands: "echo KEY_ID=$KEY_ID", answer: undefined };
  const before = [...examplesIn(section("### With curl")), ...(hasGrpcurl ? examplesIn(section("### With gRPC")) : [])];
  const assignment = (await run([...setUp, ...before, keyId], own)).at(-2) ?? "";
  const [inSql, atTerminal] = examplesIn(section("### Analytics"));
  if (!inSql || !atTerminal) expect.unreachable("README shows no analytics");
  const again = [...setUp.slice(0, 1), { commands: assignment, answer: undefined }, inSql];
  await expect.poll(async () => JSON.parse((await run(again, own))[2] ?? "")).toEqual(expectation(inSql.answer));
  // The command finds the service by its settings, which this one did not get from the environment.
  const elsewhere = { commands: atTerminal.commands.replace(/"$/m, `" --url ${own.url}`), answer: undefined };
  // The sums follow the events that they are made of.
  await expect.poll(async () => (await run([elsewhere], own))[0]).toMatch(/^time +outcome +n\n\S+Z +\w+ +\d$/m);
});

test("the commands at a terminal say why a key is denied, mend it, and end with the codes of the table", async () => {
  const before = [...setUp, ...examplesIn(section("### With curl"))];
  const [list = "", story = ""] = (await run([...before, ...examplesIn(section("### At a terminal"))], service)).slice(before.length);
  expect(list).toMatch(/^id +name .*\napi_\w+ +payments /);
  expect(story).toMatch(/^code +INSUFFICIENT_PERMISSIONS$/m);
  expect(story).toMatch(/^ {2}permissions +failed .*refunds\.read/m);
  expect(story).toMatch(/^valid +true\ncode +VALID$/m);
  expect(story).toMatch(/^credits +499$/m);
  const rows = section("### At a terminal").match(/^\| \d \|.*$/gm);
  expect(rows).toEqual(Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`));
});

test("the commands for root keys make one and list it", async () => {
  const [output = ""] = await run(examplesIn(section("### Root keys")), service);
  expect(output).toMatch(/^lkr_\w+\n/);
  expect(output).toMatch(/^rk_\w+ +checkout .* api\.\*\.verify_key$/m);
});

test("the commands for keys of another system, for what has no procedure, the audit log and a backup do what is said", async () => {
  await using own = await startService();
  const migration = examplesIn(section("### Keys of another system"));
  const [protect, allow, remove] = examplesIn(section("### Guarding APIs"));
  const [audit, backup] = examplesIn(section("## Operate"));
  if (!protect || !allow || !remove || !audit || !backup) expect.unreachable("README lacks examples");
  const hasSqlite = spawnSync("sqlite3", ["-version"]).status === 0;
  const operated = [protect, allow, remove, audit, ...(hasSqlite ? [backup] : [])];
  const outputs = await expectAnswers([...setUp, ...examplesIn(section("### With curl"))], [...migration, ...operated], own);
  expect(outputs[0]).toMatch(/^mig_\w+ +sha256 /m);
  const [verdict = "", ...events] = (outputs[migration.length + 3] ?? "").split("The log is whole.\n");
  expect(verdict).toMatch(/^\d+ entries, /);
  // The newest events may still be on their way into the log.
  expect(events.join()).toContain(`"event":"rootKey.create"`);
  if (!hasSqlite) return;
  const backups = readdirSync(own.dataDir).filter((file) => /^backup-.*\.sqlite$/.test(file));
  expect(backups.map((file) => statSync(join(own.dataDir, file)).mode & 0o777)).toEqual([0o600]);
});

test("the commands for a test clock turn it", async () => {
  const [start, ...examples] = examplesIn(section("### Tests that need no waiting"));
  expect(start?.commands).toBe("DATA_DIR=data/test npm run --silent latchkey -- serve --test-clock\n");
  await using own = await startService({ args: ["--test-clock"] });
  expect(examples.filter(({ answer }) => answer !== undefined)).toHaveLength(4);
  await expectAnswers([], examples, own);
});

test("the two commands of a newcomer are scripts of package.json", () => {
  expect(examplesIn(section("## Run")).map(({ commands }) => commands.trim())).toEqual(["npm ci && npm start", "npm ci && npm test"]);
  expect(Object.keys(packageJson.scripts)).toEqual(expect.arrayContaining(["start", "test"]));
});

test("the table of settings is the one of the code", () => {
  const rows = section("## Configure")
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  const wanted = configVariables.map(
    ({ name, byDefault, description }) => `| \`${name}\` | ${byDefault === undefined ? "" : `\`${byDefault}\``} | ${description} |`,
  );
  expect(rows).toEqual(wanted);
});

test("every script, file and folder that the documents name is there", () => {
  for (const document of ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]) {
    const text = readFileSync(join(root, document), "utf8");
    for (const [, script = ""] of text.matchAll(/npm run (?:--silent )?([\w:]+)/g))
      expect(packageJson.scripts, document).toHaveProperty([script]);
    for (const [, path = ""] of text.matchAll(/`((?:src|test|proto|gen|deploy|bench|\.ci)\/[^`*<…]*)`/g)) {
      expect(() => readFileSync(join(root, path)), `${path} in ${document}`).not.toThrow(/ENOENT/);
    }
  }
});
