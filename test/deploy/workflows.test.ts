import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

const directory = join(import.meta.dirname, "../../.github/workflows");
const workflows = readdirSync(directory);

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly uses?: string; readonly steps?: readonly { readonly uses?: string; readonly run?: string }[] }>
  >;
}
const read = (name: string): Workflow => parse(readFileSync(join(directory, name), "utf8")) as Workflow;
const runs = (name: string): string[] => Object.values(read(name).jobs).flatMap(({ steps = [] }) => steps.flatMap(({ run = [] }) => run));

test("a change has to pass .ci/run, and so has a release before anything is built", () => {
  expect(runs("ci.yml").at(-1)).toBe(".ci/run");
  const { jobs } = read("release.yml");
  expect(jobs.checks?.uses).toBe("./.github/workflows/ci.yml");
  expect(jobs.release).toMatchObject({ needs: "checks" });
});

test("a release has an image, a list of contents and a statement of where both come from", () => {
  expect(runs("release.yml").join("\n")).toContain("npm sbom");
  const used = read("release.yml").jobs.release?.steps?.map(({ uses }) => uses?.split("@")[0]);
  expect(used).toEqual(expect.arrayContaining(["docker/build-push-action", "actions/attest-build-provenance"]));
});

test.each(workflows)("%s may only read unless a job says otherwise, and names a version of every action", (name) => {
  const { permissions, jobs } = read(name);
  expect(permissions).toEqual({ contents: "read" });
  for (const { steps = [] } of Object.values(jobs))
    for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
});
