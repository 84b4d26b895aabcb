import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
/** The folders of src/platform, and which others of them each may import. */
const platform: Readonly<Record<string, readonly string[]>> = {
  util: [],
  base: ["util"],
  secrets: ["base"],
  fairness: ["base"],
  authorization: ["base"],
  storage: ["authorization", "base", "fairness", "secrets", "util"],
  telemetry: ["base", "storage"],
  cache: ["base", "storage", "util"],
  config: ["authorization", "base", "secrets"],
  http: ["base", "fairness", "util"],
  codec: ["base", "fairness", "http", "util"],
  rpc: ["authorization", "base", "codec", "fairness", "http", "secrets", "storage", "telemetry", "util"],
  documentation: ["http", "rpc", "util"],
};

/**
 * The folders of src/features, and which others each may import. Its procedures, which nobody imports but the service, may import
 * every feature, and what procedures of another one share.
 */
const features: Readonly<Record<string, readonly string[]>> = {
  idempotency: [],
  ratelimit: [],
  audit: [],
  analytics: ["ratelimit"],
  calls: ["audit", "idempotency", "ratelimit", "rootKeys"],
  rootKeys: ["audit"],
  apis: ["audit"],
  keys: ["audit"],
  migrations: ["audit"],
  nodes: ["audit", "calls"],
  permissions: ["audit", "calls"],
  console: ["audit", "rootKeys"],
  identities: ["analytics", "audit", "calls", "nodes"],
  verification: ["analytics", "apis", "audit", "identities", "keys", "migrations", "permissions", "ratelimit"],
  testing: ["calls"],
};

/** Where a file belongs, such as `platform/http`, `features/keys/procedures` or `service`; undefined: nowhere. */
const roomOf = (file: string): string | undefined => {
  const [top, layer = "", room = "", ...inner] = file.split("/");
  if (top === "gen") return "gen";
  if (top !== "src") return undefined;
  if (file === "src/main.ts" || layer === "cli") return "cli";
  if (layer === "service" || layer === "operations") return layer;
  if (layer === "platform") return room in platform ? `platform/${room}` : undefined;
  if (layer !== "features" || !(room in features)) return undefined;
  return `features/${room}${inner.includes("procedures") || room === "testing" || inner[0] === "edge" ? "/procedures" : ""}`;
};

/** True when a file of one room may import one of another. */
const mayImport = (from: string, target: string, to: string): boolean => {
  if (from === to || (to.startsWith("platform/") && !from.startsWith("platform/"))) return true;
  if (from === "cli") return true;
  if (from === "service") return to !== "cli";
  if (to === "gen")
    return from !== "operations" && !["util", "base", "storage", "cache", "fairness"].some((room) => from === `platform/${room}`);
  if (from.startsWith("platform/")) return platform[from.slice("platform/".length)]?.some((room) => to === `platform/${room}`) === true;
  if (from === "operations") return to.startsWith("features/") && !to.endsWith("/procedures");
  if (!to.startsWith("features/")) return false;
  if (from.endsWith("/procedures")) return !to.endsWith("/procedures") || target.includes("/procedures/shared/") || from.startsWith(to);
  return features[from.slice("features/".length)]?.some((room) => to === `features/${room}`) === true;
};

const sources = new Map(globSync("src/**/*.ts", { cwd: root }).map((file) => [file, readFileSync(join(root, file), "utf8")]));
const files = [...sources.keys()];
const benches = new Map(globSync("bench/**/*.ts", { cwd: root }).map((file) => [file, readFileSync(join(root, file), "utf8")]));

/** Paths from the root of what a file imports, types included. */
const importsOf = (file: string): string[] =>
  [
    ...(sources.get(file) ?? benches.get(file) ?? "").matchAll(
      /(?:^(?:import|export)\s+[^"';]*?from\s+|^import\s+|\bimport\(\s*|\bnew URL\(\s*)"(?<path>\.{1,2}\/[^"]+\.[jt]s)"/gm,
    ),
  ].map(({ groups }) => relative(root, join(root, dirname(file), groups?.path ?? "")));

test("every source file belongs to a room", () => {
  expect(files.flatMap(importsOf).length).toBeGreaterThan(files.length);
  expect(files.filter((file) => roomOf(file) === undefined)).toEqual([]);
});

test("imports point one way: platform ← features ← operations ← service ← cli, and between folders only where it is listed", () => {
  const offences = files.flatMap((file) =>
    importsOf(file)
      .filter((target) => {
        const [from, to] = [roomOf(file), roomOf(target)];
        return from !== undefined && (to === undefined || !mayImport(from, target, to));
      })
      .map((target) => `${file} → ${target}`),
  );
  expect(offences).toEqual([]);
});

test.each([
  { name: "platform", rooms: platform },
  { name: "features", rooms: features },
])("no two folders of src/$name import each other, not even through others", ({ rooms }) => {
  const reachableFrom = (start: string): Set<string> => {
    const reached = new Set<string>();
    const visit = (room: string): void => {
      for (const next of rooms[room] ?? []) {
        if (reached.has(next)) continue;
        reached.add(next);
        visit(next);
      }
    };
    visit(start);
    return reached;
  };
  expect(Object.keys(rooms).filter((room) => reachableFrom(room).has(room))).toEqual([]);
});

test("no file imports itself through others, not even for a type", () => {
  const finished = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(" → "));
      return;
    }
    if (finished.has(file)) return;
    for (const target of importsOf(file)) visit(target, [...path, file]);
    finished.add(file);
  };
  for (const file of [...files, ...benches.keys()]) visit(file, []);
  expect(cycles).toEqual([]);
});

test("benchmarks import nothing from the tests, which import the runs that both make from bench/", () => {
  expect(benches.size).toBeGreaterThan(20);
  expect([...benches].filter(([, text]) => /"[./]+\/test\//.test(text)).map(([file]) => file)).toEqual([]);
});

describe("one place for each of these", () => {
  /** The main file of a process of its own. */
  const engineProcess = "src/features/analytics/embedded/engineMain.ts";

  const offenders = (pattern: RegExp, where: (file: string) => boolean): string[] =>
    [...sources].filter(([file, text]) => !where(file) && pattern.test(text.replace(/^\s*(\*|\/\/|\/\*).*$/gm, ""))).map(([file]) => file);

  test("only the clock reads the time", () => {
    expect(
      offenders(/\bDate\.now\(|\bperformance\.now\(|\bnew Date\(\)|process\.hrtime/, (file) => file === "src/platform/base/clock.ts"),
    ).toEqual([]);
  });

  test("only storage knows the MongoDB driver and SQLite", () => {
    expect(offenders(/from "(mongodb|node:sqlite)"/, (file) => file.startsWith("src/platform/storage/"))).toEqual([]);
  });

  test("only rpc and the admin port know Connect and the HTTP servers; the analytics engine has one of its own", () => {
    const engine = ["src/features/analytics/clickhouse.ts", "src/features/analytics/connection.ts", engineProcess];
    expect(
      offenders(
        /from "(@connectrpc\/.*|node:https?|node:http2)"/,
        (file) =>
          /^src\/(platform\/(rpc|http|documentation)|features\/console\/edge|operations\/admin)\//.test(file) || engine.includes(file),
      ),
    ).toEqual([]);
  });

  test("only analytics knows ClickHouse, and only its own process loads the library", () => {
    expect(offenders(/from "@clickhouse\/client"/, (file) => file === "src/features/analytics/clickhouse.ts")).toEqual([]);
    expect(offenders(/from "chdb"/, (file) => file === engineProcess)).toEqual([]);
  });

  test("only workers know node's cluster", () => {
    expect(offenders(/"node:cluster"/, (file) => file.startsWith("src/service/workers/"))).toEqual([]);
  });

  test("only telemetry knows the log and metrics libraries", () => {
    expect(offenders(/from "(pino|prom-client)"/, (file) => file.startsWith("src/platform/telemetry/"))).toEqual([]);
  });

  test("only traces know OpenTelemetry, and what loads it is itself loaded only where there is a collector", () => {
    const tracing = "src/platform/telemetry/tracing/";
    expect(offenders(/"@opentelemetry\//, (file) => file.startsWith(tracing))).toEqual([]);
    const loading = files.filter((file) => /^import (?!type ).*"@opentelemetry\//m.test(sources.get(file) ?? ""));
    expect(loading.length).toBeGreaterThan(0);
    const outside = files.filter((file) => !loading.includes(file));
    const known = outside.filter((file) =>
      new RegExp(`^import .*/(${loading.map((name) => basename(name)).join("|")})"`, "m").test(sources.get(file) ?? ""),
    );
    expect(known).toEqual([]);
  });

  test("only main, and that of the analytics engine, ends the process, reads its arguments, environment and signals", () => {
    expect(
      offenders(
        /\bprocess\.(exit|exitCode|argv|env|on|once|stdout|stderr|kill)\b/,
        (file) => file === "src/main.ts" || file === engineProcess,
      ),
    ).toEqual([]);
  });
});

test.runIf(existsSync(join(root, ".git")))(
  "no file in git carries a copyright notice: what others wrote is installed, not copied, and in what is built their licences are named",
  () => {
    const notice = "(copyright|\\(c\\)|©)[^[:alnum:]]*[0-9]{4}|all rights? reserved|SPDX-(File|Snippet)CopyrightText";
    const { status, stdout, stderr } = spawnSync(
      "git",
      ["grep", "-I", "-n", "-i", "-E", notice, "--", ":!LICENSE", ":!ui/dist/licences.md"],
      {
        cwd: root,
        encoding: "utf8",
      },
    );
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: "", stderr: "" });
  },
);
