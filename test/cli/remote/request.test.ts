import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { flagsOf, noneName, placeNames } from "../../../src/cli/remote/flags.ts";
import { findProcedure, procedureCommands } from "../../../src/cli/remote/procedureCommands.ts";
import { optionsOf, readOptions, readRequest } from "../../../src/cli/remote/readRequest.ts";
import type { DescribedField } from "../../../src/platform/rpc/description/describeField.ts";
import { unaryMethods } from "../../../src/platform/rpc/edges/unaryMethods.ts";
import { procedureName } from "../../../src/platform/rpc/procedureName.ts";
import { testableServices } from "../../../src/service/services.ts";
import { compileCodec } from "../../support/compileCodec.ts";

const NOW = Date.UTC(2026, 0, 15, 12);
const DAY = 86_400_000;

const read = async (line: readonly string[], input = "") => {
  const called = findProcedure(line);
  if (called === undefined) throw new Error(`no procedure ${line[0]}`);
  const { found, rest } = called;
  const clock = { now: () => NOW, monotonic: () => 0 };
  return readRequest(found.procedure, readOptions(found, rest), { clock, readInput: async () => input });
};

const body = async (...line: string[]): Promise<unknown> => (await read(line)).body;
const refused = (...line: string[]): Promise<string> =>
  read(line).then(
    ({ body }) => `read ${JSON.stringify(body)}`,
    (error: Error) => error.message,
  );

test("every procedure is a command, by the words of its name and by its own name", () => {
  expect(procedureCommands.length).toBeGreaterThan(50);
  for (const { namespace, verb, procedure } of procedureCommands) {
    expect(findProcedure([namespace, verb, "--json"])).toMatchObject({ found: { procedure: { name: procedure.name } }, rest: ["--json"] });
    expect(findProcedure([procedure.name])).toMatchObject({ found: { namespace, verb } });
    expect(`${namespace} ${verb}`).toMatch(/^[a-z]+(-[a-z]+)* [a-z]+(-[a-z]+)*$/);
    expect([procedure.name, procedure.comment]).not.toEqual([procedure.name, ""]);
  }
});

test("no field of a request has the name of an option of every call, or of another field", () => {
  const options = optionsOf({ destroys: true });
  for (const { procedure } of procedureCommands) {
    const names = flagsOf(procedure).flatMap((flag) => [flag.name, noneName(flag) ?? []].flat());
    expect([procedure.name, names.filter((name) => Object.hasOwn(options, name))]).toEqual([procedure.name, []]);
    expect([procedure.name, new Set(names).size]).toEqual([procedure.name, names.length]);
  }
});

test("which integers are times and which are lengths is read from what the interface says of them", () => {
  const kinds = (kind: string) =>
    procedureCommands.flatMap(({ procedure }) =>
      flagsOf(procedure).flatMap(({ name, field }) => [
        ...(field.kind === kind ? [`${procedure.name} ${name}`] : []),
        ...(field.isList ? field.fields.filter((each) => each.kind === kind).map((each) => `${procedure.name} ${name} ${each.name}`) : []),
      ]),
    );
  expect(kinds("time").sort()).toEqual([
    "analytics.getUsage end",
    "analytics.getUsage start",
    "keys.createKey expires",
    "keys.explain at",
    "keys.migrateKeys keys expires",
    "keys.searchKeys expires-before",
    "keys.searchKeys unused-since",
    "keys.updateKey expires",
    "rootKeys.createKey expires",
    "rootKeys.updateKey expires",
    "testing.setTime time",
  ]);
  expect(kinds("timestamp").sort()).toEqual(["audit.getLogs end", "audit.getLogs start"]);
  expect(kinds("duration").sort()).toEqual([
    "identities.createIdentity ratelimits duration",
    "identities.updateIdentity ratelimits duration",
    "keys.createKey ratelimits duration",
    "keys.explain ratelimits duration",
    "keys.rerollKey expiration",
    "keys.updateKey ratelimits duration",
    "keys.verifyKey ratelimits duration",
    "ratelimit.limit duration",
    "ratelimit.multiLimit entries duration",
    "ratelimit.setOverride duration",
    "rootKeys.rerollKey expiration",
  ]);
});

/** A value that an option of this kind takes. */
const sampleOf = ({ kind, values, fields }: DescribedField): string => {
  if (kind === "object") {
    const simple = fields.filter((field) => !field.isList && !["object", "struct"].includes(field.kind));
    return simple.map((field) => `${field.name}=${sampleOf(field)}`).join(",");
  }
  const samples = {
    text: "abc",
    boolean: "true",
    integer: "5",
    time: "30d",
    timestamp: "-7d",
    duration: "1m",
    struct: '{"a":[null]}',
    enum: values[0] ?? "",
  };
  return samples[kind];
};

test("every option of every procedure makes what the service reads at its place, and so does every --no-", async () => {
  const mismatches: string[] = [];
  for (const method of unaryMethods(testableServices)) {
    const name = procedureName(method);
    const { procedure } = procedureCommands.find((command) => command.procedure.name === name) ?? expect.unreachable(name);
    const codec = compileCodec(method.input);
    for (const flag of flagsOf(procedure)) {
      const none = noneName(flag);
      const whole = flag.field.kind === "object" && !flag.field.isList ? "{}" : sampleOf(flag.field);
      const value = flag.field.secret ? "-" : whole;
      const isSwitch = flag.field.kind === "boolean" && !flag.field.isList;
      const lines = [isSwitch ? [`--${flag.name}`] : [`--${flag.name}`, value], ...(none === undefined ? [] : [[`--${none}`]])];
      for (const line of lines) {
        const { violations } = codec.decode((await read([name, ...line], "pay_secret")).body);
        const wrong = violations.filter(({ message }) => /^got (?!\d)|additional property/.test(message));
        mismatches.push(...wrong.map(({ location, message }) => `${name} ${line.join(" ")}: ${location} ${message}`));
      }
    }
  }
  expect(mismatches).toEqual([]);
});

test.each([
  [["apis", "create-api", "--name", "payments"], { name: "payments" }],
  [["apis.createApi", "--name=a=b"], { name: "a=b" }],
  [["apis", "create-api"], {}],
  [["apis", "create-api", "--name", ""], { name: "" }],
  [["apis", "list-apis", "--limit", "5", "--search=-x"], { limit: 5, search: "-x" }],
  [["keys", "update-key", "--key-id", "key_1"], { keyId: "key_1" }],
  [["keys", "update-key", "--key-id", "key_1", "--no-name"], { keyId: "key_1", name: null }],
  [["keys", "update-key", "--key-id", "key_1", "--name", "null"], { keyId: "key_1", name: "null" }],
  [["keys", "update-key", "--no-permissions", "--no-ratelimits"], { permissions: [], ratelimits: null }],
  [["keys", "update-key", "--permissions", "a", "--permissions", "b,c"], { permissions: ["a", "b,c"] }],
  [["keys", "update-key", "--enabled"], { enabled: true }],
  [["keys", "update-key", "--no-enabled"], { enabled: false }],
  [["keys", "update-key", "--enabled=false"], { enabled: false }],
  [["keys", "update-key", "--credits.remaining", "5", "--no-credits.refill"], { credits: { remaining: 5, refill: null } }],
  [["keys", "update-key", "--no-credits"], { credits: null }],
  [["keys", "update-key", "--credits.remaining=0", "--credits", '{"refill":null}'], { credits: { refill: null, remaining: 0 } }],
  [
    ["keys", "create-key", "--credits.refill.interval", "monthly", "--credits.refill.refill-day", "31", "--credits.refill.amount", "1"],
    { credits: { refill: { interval: "monthly", refillDay: 31, amount: 1 } } },
  ],
  [["keys", "create-key", "--meta", '{"plan":"pro","null":null}'], { meta: { plan: "pro", null: null } }],
  [["keys", "update-key", "--meta", "{}"], { meta: {} }],
  [["keys", "update-key", "--no-meta"], { meta: null }],
  [["keys", "create-key", "--expires", "30d"], { expires: NOW + 30 * DAY }],
  [["keys", "create-key", "--expires", "1900000000000"], { expires: 1_900_000_000_000 }],
  [["keys", "create-key", "--expires=-7d"], { expires: NOW - 7 * DAY }],
  [["keys", "create-key", "--expires", "-7d"], { expires: NOW - 7 * DAY }],
  [["keys", "create-key", "--expires", "now"], { expires: NOW }],
  [["keys", "create-key", "--expires", "2030-12-31"], { expires: Date.UTC(2030, 11, 31) }],
  [["keys", "reroll-key", "--expiration", "1h"], { expiration: 3_600_000 }],
  [["keys", "reroll-key", "--no-expiration"], { expiration: null }],
  [["ratelimit", "limit", "--duration", "1500"], { duration: 1_500 }],
  [["ratelimit", "limit", "--limit=-1"], { limit: -1 }],
  [["ratelimit", "limit", "--limit", "-1"], { limit: -1 }],
  [
    ["keys", "create-key", "--ratelimits", "name=requests,limit=10,duration=1m,auto-apply", "--ratelimits", '{"name":"x,y","limit":1}'],
    {
      ratelimits: [
        { name: "requests", limit: 10, duration: 60_000, autoApply: true },
        { name: "x,y", limit: 1 },
      ],
    },
  ],
  [["keys", "create-key", "--ratelimits", "name=a,autoApply=false"], { ratelimits: [{ name: "a", autoApply: false }] }],
  [
    ["ratelimit", "multi-limit", "--entries", "namespace=a,identifier=b", "--entries", "namespace=c,identifier=d=e"],
    [
      { namespace: "a", identifier: "b" },
      { namespace: "c", identifier: "d=e" },
    ],
  ],
  [
    ["ratelimit", "multi-limit", "--data", '[{"namespace":"a"}]', "--entries", "namespace=b"],
    [{ namespace: "a" }, { namespace: "b" }],
  ],
  [["analytics", "get-usage", "--filter.api-id", "api_1", "--filter.passed", "true"], { filter: { apiId: ["api_1"], passed: [true] } }],
  [["analytics", "get-usage", "--no-filter.tag", "--group-by", "tag"], { filter: { tag: [] }, groupBy: ["tag"] }],
  [["keys", "update-key", "--data", '{"keyId":"key_1","name":"a"}', "--name", "b"], { keyId: "key_1", name: "b" }],
  [
    ["keys", "create-key", "--data", '{"credits":{"remaining":1},"x":1}', "--credits.refill.amount=2"],
    { credits: { remaining: 1, refill: { amount: 2 } }, x: 1 },
  ],
  [["audit", "get-logs", "--start", "-7d"], { start: new Date(NOW - 7 * DAY).toISOString() }],
  [["audit", "get-logs", "--end", "2030-12-31"], { end: "2030-12-31T00:00:00.000Z" }],
  [["nodes", "list-nodes", "--json"], {}],
])("%j asks for %j", async (line, wanted) => {
  expect(await body(...line)).toEqual(wanted);
});

test.each([
  [["apis", "create-api", "payments"], "an argument without an option"],
  [["apis", "create-api", "--name"], "--name has no value"],
  [["apis", "create-api", "--name", "--json"], "--name has no value; one that begins with a dash is written --name=…"],
  [["apis", "create-api", "--nmae", "x"], "there is no option --nmae; latchkey help apis create-api lists them"],
  [["apis", "get-api", "--apiId", "x"], "there is no option --apiId; did you mean --api-id?"],
  [["apis", "create-api", "--no-name"], "there is no option --no-name"],
  [["apis", "create-api", "--name", "a", "--name", "b"], "--name is given twice"],
  [["apis", "create-api", "--json", "--json"], "--json is given twice"],
  [["apis", "create-api", "--json=yes"], "--json takes no value"],
  [["apis", "list-apis", "--limit", "ten"], '--limit: "ten" is not a whole number'],
  [["apis", "list-apis", "--limit", "1.5"], '--limit: "1.5" is not a whole number'],
  [["apis", "list-apis", "--limit", "9007199254740993"], "--limit: "],
  [["keys", "update-key", "--enabled=maybe"], '--enabled: "maybe" is neither true nor false'],
  [["keys", "update-key", "--enabled", "false"], "--enabled stands for true without a value behind it; write --enabled=false"],
  [["audit", "get-logs", "--start", "tomorrow"], '--start: "tomorrow" is neither Unix milliseconds nor a time such as'],
  [["audit", "get-logs", "--start", "9007199254740991"], "--start: lies outside of the years 0 to 9999"],
  [["keys", "update-key", "--enabled", "--no-enabled"], "--enabled and --no-enabled exclude each other"],
  [["keys", "update-key", "--no-name", "--name", "a"], "--name and --no-name exclude each other"],
  [["keys", "update-key", "--no-permissions", "--permissions", "a"], "--permissions and --no-permissions exclude each other"],
  [["keys", "update-key", "--no-credits", "--credits.remaining", "5"], "--credits.remaining: something else says that credits is null"],
  [["keys", "create-key", "--expires", "tomorrow"], '--expires: "tomorrow" is neither Unix milliseconds nor a time such as'],
  [["keys", "create-key", "--expires=-x"], '--expires: "-x" is neither'],
  [["ratelimit", "limit", "--duration", "1 minute"], '--duration: "1 minute" is neither milliseconds nor a length such as'],
  [["keys", "create-key", "--meta", "plan=pro"], "--meta: not JSON"],
  [["keys", "create-key", "--meta", "[]"], "--meta: want a JSON object"],
  [["keys", "create-key", "--credits", "5"], "--credits: want a JSON object"],
  [
    ["keys", "create-key", "--ratelimits", "name=a,window=5"],
    '--ratelimits: no "window" in it; write name, limit, duration, autoApply as NAME=VALUE',
  ],
  [["keys", "create-key", "--ratelimits", "name=a,limit=x"], '--ratelimits: limit: "x" is not a whole number'],
  [["keys", "create-key", "--ratelimits", "name=a,limit"], "--ratelimits: limit has no value"],
  [["keys", "create-key", "--ratelimits", "name=a,name=b"], "--ratelimits: name is given twice"],
  [["keys", "migrate-keys", "--keys", "hash=a,permissions=x"], "--keys: permissions needs all of it as JSON"],
  [["apis", "create-api", "--data", "{"], "--data: not JSON"],
  [["apis", "create-api", "--data", "[]"], "--data: want a JSON object"],
  [["ratelimit", "multi-limit", "--data", "{}"], "--data: want a JSON array"],
  [["apis", "create-api", "--data", "@/nonexistent/body.json"], "--data: /nonexistent/body.json cannot be read"],
  [["apis", "create-api", "--root-key", "lkr_x"], "--root-key: a root key is not taken as an argument"],
  [["apis", "create-api", "--token=lkr_x"], "--token: a root key is not taken as an argument"],
])("%j is refused: %s", async (line, message) => {
  const said = await refused(...line);
  expect(said).toContain(message);
  expect(said).not.toContain("lkr_x");
});

test("a secret comes from standard input or a file, never from an argument", async () => {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-secret-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = join(directory, "key");
  await writeFile(file, "pay_secret\n");
  await writeFile(join(directory, "body.json"), '{"key":"pay_secret"}');
  for (const command of [
    ["keys", "verify-key"],
    ["keys", "whoami"],
    ["keys", "explain"],
  ]) {
    expect(await read([...command, "--key", "-"], "pay_secret\n")).toMatchObject({ body: { key: "pay_secret" }, secrets: ["pay_secret"] });
    expect(await read([...command, "--key", `@${file}`])).toMatchObject({ body: { key: "pay_secret" } });
    expect(await read([...command, "--data", "-"], '{"key":"pay_secret"}')).toMatchObject({
      body: { key: "pay_secret" },
      secrets: ["pay_secret"],
    });
    expect(await read([...command, "--data", `@${join(directory, "body.json")}`])).toMatchObject({ body: { key: "pay_secret" } });
    for (const exposed of [["--key", "pay_secret"], ["--key=pay_secret"], ["--data", '{"key":"pay_secret"}']]) {
      const said = await refused(...command, ...exposed);
      expect(said).toContain("every user of this machine can see");
      expect(said).not.toContain("pay_secret");
    }
  }
  await expect(read(["keys", "verify-key", "--key", "-", "--data", "-"], "{}")).rejects.toThrow(
    "standard input can be read for one option only",
  );
});

test("places in a request are named as its options", () => {
  const of = (name: string) =>
    placeNames(flagsOf(procedureCommands.find(({ procedure }) => procedure.name === name)?.procedure ?? expect.unreachable()));
  const create = of("keys.createKey");
  expect(create("body.apiId")).toBe("--api-id");
  expect(create("body.credits.refill.amount")).toBe("--credits.refill.amount");
  expect(create("body.ratelimits[1].limit")).toBe("--ratelimits[1].limit");
  expect(create("body.apiIdentity")).toBe("body.apiIdentity");
  expect(create("body")).toBe("--data");
  expect(create("header.Content-Type")).toBe("header.Content-Type");
  expect(of("ratelimit.multiLimit")("body[1].limit")).toBe("--entries[1].limit");
});
