import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Edge } from "../../bench/harness/v2Edge.ts";
import { auditEventTexts } from "../../docs/build/auditEventTexts.ts";
import { chapterText } from "../../docs/build/citations.ts";
import { procedures } from "../../docs/build/descriptors.ts";
import { examples, shown } from "../../docs/build/examples.ts";
import { procedureErrors } from "../../docs/build/procedureErrors.ts";
import { VerificationCodeSchema } from "../../gen/latchkey/v2/keys_pb.ts";
import { configVariables } from "../../src/config/loadConfig.ts";
import { allPermissions } from "../../src/domain/authorization.ts";
import { createSettableClock } from "../../src/domain/clock.ts";
import { reasons } from "../../src/domain/errors.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { embeddedAnalytics } from "../support/analytics.ts";
import { dataOf, startApi } from "../support/api.ts";
import { engines } from "../support/stores.ts";

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

/** The first command of a page, as a call: the procedure and its body. */
const curlOf = (procedure: string): { readonly procedure: string; readonly body: string } => {
  const [, address = "", body = ""] =
    /```sh\ncurl [^\n]*\/v2\/(\S+) [^']*'Content-Type: application\/json' \\\n {2}-d '(.*)'\n```/.exec(page(`reference/${procedure}.md`)) ??
    [];
  return { procedure: address, body };
};

test("the examples are answered as they stand on the pages, one after the other", async () => {
  const [engine] = engines;
  if (engine?.name !== "embedded") return expect.unreachable("only the embedded store has a clock that can be set");
  const analytics = embeddedAnalytics();
  const api = await startApi(engine, { testClock: createSettableClock(), env: analytics.env });
  try {
    const [v2] = api.edges as readonly [Edge];
    const call = async (procedure: string, body: unknown): Promise<Record<string, unknown>> => {
      const answer = await v2.call(procedure, body, api.rootKey);
      if (answer.status !== 200) expect.unreachable(`${procedure}: ${JSON.stringify(answer.body)}`);
      return dataOf(answer);
    };
    // The example of usage names a day, which has to lie within the retention.
    await call("testing.setTime", { time: Date.UTC(2026, 10, 23, 12) });
    const real = new Map<string, string>();
    for (const { procedure, gives = {} } of examples) {
      const example = curlOf(procedure);
      expect(example.procedure).toBe(procedure);
      const body = [...real].reduce((text, [of, id]) => text.replaceAll(of, id), example.body);
      const data = await call(procedure, JSON.parse(body));
      if (procedure === "keys.verifyKey") expect(data).toMatchObject({ valid: true, code: "VALID" });
      for (const [name, field] of Object.entries(gives)) real.set(shown[name as keyof typeof shown], String(data[field]));
    }
    expect(examples.map(({ procedure }) => procedure).sort()).toEqual(procedures.map(({ name }) => name).sort());
  } finally {
    await api.close();
    await engine.close();
    analytics.remove();
  }
});
