// @same-on-every-engine
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Edge } from "../../bench/harness/v2Edge.ts";
import { auditEventTexts } from "../../docs/build/auditEventTexts.ts";
import { procedures } from "../../docs/build/descriptors.ts";
import { examples, shown } from "../../docs/build/examples.ts";
import { procedureErrors } from "../../docs/build/procedureErrors.ts";
import { VerificationCodeSchema } from "../../gen/latchkey/v2/keys_pb.ts";
import { allPermissions } from "../../src/platform/authorization/authorization.ts";
import { createSettableClock } from "../../src/platform/base/clock.ts";
import { reasons } from "../../src/platform/base/errors.ts";
import { configVariables } from "../../src/platform/config/loadConfig.ts";
import { createMetrics } from "../../src/platform/telemetry/metrics.ts";
import { embeddedAnalytics } from "../support/analytics.ts";
import { startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";
import { chapterText } from "./citations.ts";
import { blocksOf } from "./markdown.ts";

const docs = join(import.meta.dirname, "../../docs");
const page = (path: string): string => readFileSync(join(docs, path), "utf8");

/** Those of the names that no row of the page begins with. */
const missingRows = (path: string, names: readonly string[]): string[] => {
  const text = page(path);
  return names.filter((name) => !text.includes(`\n| \`${name}\` |`));
};

test("every procedure has its page, and the index links it", () => {
  const index = page("reference/README.md");
  for (const { name } of procedures) {
    expect(page(`reference/${name}.md`)).toContain(`\n\`POST /v2/${name}\``);
    expect(index).toContain(`[${name}](${name}.md)`);
  }
});

test("errors are listed of procedures that there are", () => {
  const names = procedures.map(({ name }) => name);
  expect(Object.keys(procedureErrors).filter((name) => !names.includes(name))).toEqual([]);
});

test("every error type has its page, its row, and its place in the contract's catalogue", () => {
  const index = page("errors/README.md");
  const catalogue = chapterText("protocol");
  for (const { type } of Object.values(reasons)) {
    expect([type, existsSync(join(docs, `errors/${type}.md`))]).toEqual([type, true]);
    expect(index).toContain(`[${type}](${type}.md)`);
    expect(catalogue).toContain(type.split("/").at(-1)?.replace("invalid_analytics", ""));
  }
});

test("every permission, verification code, metric, audit event and setting has its row", () => {
  const { families } = createMetrics({ version: "1", engine: "embedded", ratelimitStoreDown: "allow" });
  const codes = VerificationCodeSchema.values.slice(1).map(({ name }) => name.replace("VERIFICATION_CODE_", ""));
  expect(missingRows("reference/root-key-permissions.md", allPermissions)).toEqual([]);
  expect(missingRows("reference/verification-codes.md", codes)).toEqual([]);
  const metrics = families.map(({ name }) => name);
  expect(missingRows("reference/metrics.md", metrics)).toEqual([]);
  expect(missingRows("reference/audit-events.md", Object.keys(auditEventTexts))).toEqual([]);
  const settings = configVariables.map(({ name }) => name);
  expect(missingRows("reference/settings.md", settings)).toEqual([]);
});

test("[protocol §11] every audit event is in the contract", () => {
  const catalogue = chapterText("protocol");
  // Those of one namespace are written shorter there: `.update`.
  const missing = Object.keys(auditEventTexts).filter(
    (name) => !catalogue.includes(name) && !catalogue.includes(`\`.${name.split(".")[1]}\``),
  );
  expect(missing).toEqual([]);
});

test("no row of the tables of codes, labels and settings lacks its text", () => {
  for (const name of ["verification-codes", "metrics", "audit-events", "settings", "command-line"]) {
    const rows = page(`reference/${name}.md`)
      .split("\n")
      .filter((line) => line.startsWith("| "));
    expect(rows.filter((row) => /\| *\|$/.test(row))).toEqual([]);
  }
});

/** Runs a block and resolves to the `data` of its answer. Rejects when the call fails. */
type Run = (block: string, rootKey: string) => Promise<Record<string, unknown>>;

const run = promisify(execFile);
const shellEnv = (rootKey: string): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, HOME: process.env.HOME, ROOT_KEY: rootKey });
const isInstalled = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0;
type AsyncFunction = (process: object) => Promise<{ readonly data?: Record<string, unknown>; readonly error?: unknown }>;
const AsyncFunction = (async () => undefined).constructor as new (...args: string[]) => AsyncFunction;

/** How the example of each language is run as it stands on its page, and whether it can be here. */
const ways: readonly { readonly language: string; readonly begins: string; readonly isHere: boolean; readonly run: Run }[] = [
  {
    language: "sh",
    begins: "curl ",
    isHere: true,
    run: async (block, rootKey) => {
      const { stdout } = await run("sh", ["-euc", block], { env: shellEnv(rootKey) });
      const { data, error } = JSON.parse(stdout);
      if (error !== undefined) throw new Error(stdout);
      return data;
    },
  },
  {
    language: "sh",
    begins: "grpcurl ",
    // Where the whole suite must pass, it is installed.
    isHere: process.env.CI !== undefined || isInstalled("grpcurl", "-version"),
    run: async (block, rootKey) => {
      const { stdout } = await run("sh", ["-euc", block], { env: shellEnv(rootKey) });
      return JSON.parse(stdout).data ?? {};
    },
  },
  {
    language: "ts",
    begins: "const response",
    isHere: true,
    run: async (block, rootKey) => {
      const { data, error } = await new AsyncFunction("process", `${block}\nreturn { data, error };`)({ env: { ROOT_KEY: rootKey } });
      if (error !== undefined || data === undefined) throw new Error(JSON.stringify(error));
      return data;
    },
  },
];

test.each(ways.map((way) => [way.begins.split(" ")[0] === "const" ? "TypeScript" : way.begins.trim(), way] as const))(
  "the examples in %s get the answers on the pages, one after the other",
  async (_, way) => {
    if (!way.isHere) return;
    const [engine] = engines;
    if (engine?.name !== "embedded") return expect.unreachable("only the embedded store has a clock that can be set");
    const analytics = embeddedAnalytics();
    const api = await startApi(engine, { testClock: createSettableClock(), env: analytics.env });
    try {
      const [v2] = api.edges as readonly [Edge];
      // The example of usage names a day, which has to lie within the retention.
      const { status } = await v2.call("testing.setTime", { time: Date.UTC(2026, 10, 23, 12) }, api.rootKey);
      expect(status).toBe(200);
      const real = new Map([["localhost:3000", new URL(api.url).host]]);
      for (const { procedure, gives = {} } of examples) {
        const block = blocksOf(page(`reference/${procedure}.md`)).find(
          ({ language, body }) => language === way.language && body.startsWith(way.begins),
        );
        if (block === undefined) return expect.unreachable(`${procedure} has no example in ${way.begins}`);
        expect(block.body).toContain(way.begins === "grpcurl " ? "latchkey.v2." : `/v2/${procedure}`);
        const body = [...real].reduce((text, [of, value]) => text.replaceAll(of, value), block.body);
        const data = await way.run(body, api.rootKey);
        if (procedure === "keys.verifyKey") expect(data).toMatchObject({ valid: true });
        for (const [name, field] of Object.entries(gives)) real.set(shown[name as keyof typeof shown], String(data[field]));
      }
      expect(examples.map(({ procedure }) => procedure).sort()).toEqual(procedures.map(({ name }) => name).sort());
    } finally {
      await api.close();
      await engine.close();
      analytics.remove();
    }
  },
);
