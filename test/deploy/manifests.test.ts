import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { configVariables } from "../../src/platform/config/loadConfig.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const read = (path: string): string => readFileSync(join(deploy, path), "utf8");

/** All documents of a YAML file, which must be free of errors and warnings. */
const documents = (path: string): unknown[] =>
  parseAllDocuments(read(path)).map((document) => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    return document.toJS() as unknown;
  });

const settings = new Set(configVariables.map(({ name }) => name));

/** Files of a folder, also those further down. */
const filesBelow = (folder: string, ending: string): readonly string[] =>
  readdirSync(join(deploy, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending))
    .map((path) => `${folder}/${path}`);

// `npm run check:deploy` renders all of this, checks it against the schemas and compares kustomize with the chart.
describe("Kubernetes", () => {
  const base = "kubernetes/base";

  test("every file is YAML without a warning, and every kustomization names what is there", () => {
    const kustomizations = filesBelow("kubernetes", ".yaml").filter((path) => path.endsWith("/kustomization.yaml"));
    expect(kustomizations.length).toBeGreaterThan(10);
    for (const path of filesBelow("kubernetes", ".yaml")) expect(documents(path).length).toBeGreaterThan(0);
    for (const path of kustomizations) {
      const [{ resources = [], components = [] }] = documents(path) as [{ resources?: string[]; components?: string[] }];
      for (const named of [...resources, ...components])
        expect(existsSync(join(deploy, path, "..", named)), `${path}: ${named}`).toBe(true);
    }
  });

  test("the pod is probed where the service answers, is not root, and may write to /tmp", () => {
    const [deployment] = documents(`${base}/deployment.yaml`);
    const probe = (path: string) => ({ httpGet: { path, port: "admin" } });
    expect(deployment).toMatchObject({
      spec: {
        template: {
          spec: {
            securityContext: { runAsNonRoot: true },
            containers: [
              {
                ports: [
                  { name: "api", containerPort: 3000 },
                  { name: "admin", containerPort: 9090 },
                ],
                startupProbe: probe("/readyz"),
                readinessProbe: probe("/readyz"),
                livenessProbe: probe("/livez"),
                securityContext: { readOnlyRootFilesystem: true },
                volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
              },
            ],
            volumes: [{ name: "tmp", emptyDir: {} }],
          },
        },
      },
    });
  });

  test("the limit of memory has room for the caches and for a node without them", () => {
    const withoutCaches = 400;
    for (const path of [`${base}/deployment.yaml`, "kubernetes/overlays/laptop/kustomization.yaml", "helm/latchkey/values.yaml"]) {
      const text = read(path);
      const cache = Number(/CACHE_MB\n +value: "(\d+)"|CACHE_MB: "(\d+)"/.exec(text)?.slice(1).find(Boolean));
      const [, amount, unit] = /limits:\n +memory: (\d+)(Mi|Gi)/.exec(text) ?? [];
      expect([path, Number(amount) * (unit === "Gi" ? 1024 : 1) - cache]).toEqual([path, expect.any(Number)]);
      expect(Number(amount) * (unit === "Gi" ? 1024 : 1) - cache).toBeGreaterThan(withoutCaches);
    }
  });

  test("a gRPC client can find every pod, and proxies learn that it is cleartext HTTP/2", () => {
    expect(documents(`${base}/service.yaml`)).toMatchObject([
      {
        metadata: { name: "latchkey" },
        spec: {
          ports: [
            { port: 3000, targetPort: "api", appProtocol: "http" },
            { port: 3001, targetPort: "api", appProtocol: "kubernetes.io/h2c" },
          ],
        },
      },
      {
        metadata: { name: "latchkey-grpc" },
        spec: { clusterIP: "None", ports: [{ port: 3000, targetPort: "api", appProtocol: "kubernetes.io/h2c" }] },
      },
      { metadata: { name: "latchkey-admin" }, spec: { clusterIP: "None", ports: [{ port: 9090, targetPort: "admin" }] } },
    ]);
  });

  test("every variable that a manifest or the chart sets is a setting", () => {
    const files = [...filesBelow("kubernetes", ".yaml"), ...filesBelow("helm", ".yaml")].filter((path) => !path.includes("/files/"));
    const named = files.flatMap((path) =>
      [...read(path).matchAll(/(?:name: |"variable" "|^ {2})([A-Z][A-Z_]+)\b/gm)].map(([, name]) => name),
    );
    expect(new Set(named).size).toBeGreaterThan(6);
    for (const name of named) expect(settings).toContain(name);
  });

  test("the operator's rule has the alerts of deploy/prometheus", () => {
    const [rule] = documents("kubernetes/components/monitoring/prometheusrule.yaml") as [{ spec: unknown }];
    expect(rule.spec).toEqual(documents("prometheus/alerts.yaml")[0]);
  });

  test("the chart has the version of the service", () => {
    expect(documents("helm/latchkey/Chart.yaml")).toMatchObject([{ version: packageJson.version, appVersion: packageJson.version }]);
  });
});

test("the compose file for Valkey sets only what the service knows", () => {
  const [compose] = documents("compose.valkey.yaml") as [{ services: { latchkey: { environment: Record<string, string> } } }];
  for (const name of Object.keys(compose.services.latchkey.environment)) expect(settings).toContain(name);
});

test("the compose file sets only what the service knows", () => {
  const [compose] = documents("compose.yaml") as [
    { services: { latchkey: { environment: Record<string, string>; build: { dockerfile: string } } } },
  ];
  const { environment, build } = compose.services.latchkey;
  for (const name of Object.keys(environment)) expect(settings).toContain(name);
  expect(existsSync(join(deploy, "..", build.dockerfile))).toBe(true);
});

describe("image", () => {
  const dockerfile = read("Dockerfile");
  const major = packageJson.devDependencies.node.split(".")[0];

  test("it has the Node that the service is tested on, and says which version of the service it is", () => {
    expect([...dockerfile.matchAll(/^FROM node:(\d+)/gm)].map(([, version]) => version)).toEqual([major, major, major]);
    expect(dockerfile).toContain(`org.opencontainers.image.version="${packageJson.version}"`);
  });

  test("its targets are those that the release builds, and the one with the engine is the default", () => {
    const targets = [...dockerfile.matchAll(/^FROM \S+ AS (latchkey\S*)$/gm)].map(([, name]) => name);
    expect(targets).toEqual(["latchkey-slim", "latchkey"]);
    expect(dockerfile.match(/^FROM .*$/gm)?.at(-1)).toBe("FROM latchkey-slim AS latchkey");
    const release = read("../.github/workflows/release.yml");
    expect([...release.matchAll(/^ +target: (\S+)$/gm)].map(([, name]) => name)).toEqual(targets.toReversed());
    expect(documents("compose.yaml")).toMatchObject([{ services: { latchkey: { build: { target: "latchkey-slim" } } } }]);
  });

  test("it copies what is there and what the builder is sent", () => {
    const sent = new Set(
      read("Dockerfile.dockerignore")
        .split("\n")
        .flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : [])),
    );
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
    expect([...new Set(copied)].sort()).toEqual([...sent].sort());
    for (const path of sent) expect(existsSync(join(deploy, "..", path)), path).toBe(true);
  });

  test("it runs with the flags of npm start, not as root", () => {
    const flags = packageJson.scripts.start.split(" ").filter((word) => word.startsWith("--"));
    expect(dockerfile).toContain(` NODE_OPTIONS=${flags.join(" ")} `);
    expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  });
});
