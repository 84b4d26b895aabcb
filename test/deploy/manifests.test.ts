import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { configVariables } from "../../src/config/loadConfig.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const read = (path: string): string => readFileSync(join(deploy, path), "utf8");

/** All documents of a YAML file, which must be free of errors and warnings. */
const documents = (path: string): unknown[] =>
  parseAllDocuments(read(path)).map((document) => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    return document.toJS() as unknown;
  });

const settings = new Set(configVariables.map(({ name }) => name));

describe("Kubernetes base", () => {
  const base = "kubernetes/base";

  test("every resource of the kustomization is there", () => {
    const [kustomization] = documents(`${base}/kustomization.yaml`) as [{ resources: string[] }];
    expect(kustomization.resources.length).toBeGreaterThan(2);
    for (const resource of kustomization.resources) expect(documents(`${base}/${resource}`).length).toBeGreaterThan(0);
  });

  test("the pod is probed where the service answers, is not root, and gets a place for every setting it names", () => {
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
                env: [
                  { name: "MONGODB_URL", valueFrom: { secretKeyRef: { name: "latchkey-mongodb", key: "url" } } },
                  { name: "CLICKHOUSE_URL", valueFrom: { secretKeyRef: { name: "latchkey-clickhouse", key: "url", optional: true } } },
                ],
              },
            ],
          },
        },
      },
    });
  });

  test("the services send to ports that the pod has", () => {
    expect(documents(`${base}/service.yaml`)).toMatchObject([
      { metadata: { name: "latchkey" }, spec: { ports: [{ port: 3000, targetPort: "api" }] } },
      { metadata: { name: "latchkey-admin" }, spec: { ports: [{ port: 9090, targetPort: "admin" }] } },
    ]);
  });
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

  test("it has the Node that the service is tested on", () => {
    expect([...dockerfile.matchAll(/^FROM node:(\d+)/gm)].map(([, version]) => version)).toEqual([major, major]);
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
