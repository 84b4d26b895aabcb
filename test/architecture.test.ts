import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const engines = [
  "admin",
  "analytics",
  "audit",
  "backup",
  "cache",
  "console",
  "idempotency",
  "ratelimit",
  "rootKeys",
  "sweep",
  "telemetry",
  "tls",
  "verification",
];

/** Which layers the files of a layer may import, beside their own (ARCHITECTURE.md, "The import rule"). */
const allowed: Readonly<Record<string, readonly string[]>> = {
  main: ["service", "config", "rpc", "procedures", "engines", "storage", "domain", "util"],
  service: ["config", "rpc", "procedures", "engines", "storage", "domain", "gen", "util"],
  config: ["domain", "util"],
  rpc: ["procedures", "engines", "domain", "gen", "util"],
  procedures: ["engines", "storage", "domain", "gen", "util"],
  engines: ["storage", "domain", "util"],
  storage: ["domain", "util"],
  domain: ["util"],
  util: [],
  gen: [],
};

/** The layer of a file, by its path from the repository's root. */
const layerOf = (file: string): string | undefined => {
  const [top, folder = ""] = file.split("/");
  if (top === "gen") return "gen";
  if (top !== "src") return undefined;
  if (folder === "main.ts" || folder === "cli") return "main";
  if (folder === "version.ts") return "config";
  if (engines.includes(folder)) return "engines";
  return folder in allowed ? folder : undefined;
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

test("every source file belongs to a layer", () => {
  expect(files.flatMap(importsOf).length).toBeGreaterThan(files.length);
  expect(files.filter((file) => layerOf(file) === undefined)).toEqual([]);
});

test.each(Object.keys(allowed).filter((layer) => layer !== "gen"))("%s imports only what its layer may", (layer) => {
  const offences = files
    .filter((file) => layerOf(file) === layer)
    .flatMap((file) =>
      importsOf(file)
        .filter((target) => {
          const targetLayer = layerOf(target);
          return targetLayer === undefined || (targetLayer !== layer && !allowed[layer]?.includes(targetLayer));
        })
        .map((target) => `${file} → ${target}`),
    );
  expect(offences).toEqual([]);
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
    expect(offenders(/from "(mongodb|node:sqlite)"/, (file) => file.startsWith("src/storage/"))).toEqual([]);
  });

  test("only rpc and the admin port know Connect and the HTTP servers; the analytics engine has one of its own", () => {
    const engine = ["src/features/analytics/clickhouse.ts", "src/features/analytics/connection.ts", engineProcess];
    expect(
      offenders(/from "(@connectrpc\/.*|node:https?|node:http2)"/, (file) => /^src\/(rpc|admin)\//.test(file) || engine.includes(file)),
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
    expect(offenders(/from "(pino|prom-client)"/, (file) => file.startsWith("src/telemetry/"))).toEqual([]);
  });

  test("only traces know OpenTelemetry, and what loads it is itself loaded only where there is a collector", () => {
    const tracing = "src/telemetry/tracing/";
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

test("no file is longer than 300 lines", () => {
  expect([...sources].filter(([, text]) => text.split("\n").length > 301).map(([file]) => file)).toEqual([]);
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

const folderOf = (file: string): string => dirname(file);
/** All of them, also those that hold nothing but folders. */
const folders = [...new Set(files.flatMap((file) => file.split("/").map((_, depth, path) => path.slice(0, depth).join("/"))))];

test("no folder has more than 20 files of its own", () => {
  const crowded = folders.map((folder) => [folder, files.filter((file) => folderOf(file) === folder).length] as const);
  expect(crowded.filter(([, count]) => count > 20)).toEqual([]);
});

test("no file has the name of a folder beside it, or of its own", () => {
  const nameOf = (file: string): string => file.replace(/(\.d)?\.ts$/, "");
  const twins = files.filter((file) => folders.includes(nameOf(file)) || basename(nameOf(file)) === basename(folderOf(file)));
  expect(twins).toEqual([]);
});
