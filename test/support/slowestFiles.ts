import type { Reporter, TestModule } from "vitest/node";

const SHOWN = 20;

interface Cost {
  readonly file: string;
  readonly tests: number;
  /** Milliseconds that importing the file and what it imports took. */
  readonly load: number;
  /** Milliseconds of its hooks and tests. */
  readonly run: number;
}

const costOf = (module: TestModule): Cost => {
  const { collectDuration, setupDuration, prepareDuration, environmentSetupDuration, duration } = module.diagnostic();
  const load = collectDuration + setupDuration + prepareDuration + environmentSetupDuration;
  return { file: module.relativeModuleId, tests: [...module.children.allTests()].length, load, run: duration };
};

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1).padStart(8);

const row = ({ file, tests, load, run }: Cost): string =>
  `${seconds(load + run)} ${seconds(load)} ${seconds(run)} ${String(tests).padStart(6)}  ${file}`;

/** Adds up all columns. Workers run in parallel, so the sum exceeds the duration of the run. */
const sumOf = (costs: readonly Cost[]): Cost => {
  const add = (column: (cost: Cost) => number): number => costs.reduce((sum, cost) => sum + column(cost), 0);
  return { file: `${costs.length} files`, tests: add(({ tests }) => tests), load: add(({ load }) => load), run: add(({ run }) => run) };
};

/** Prints the twenty slowest test files, and the sum over all files. */
export const slowestFiles: Reporter = {
  onTestRunEnd: (modules) => {
    if (modules.length < 2) return;
    const costs = modules.map(costOf).sort((a, b) => b.load + b.run - a.load - a.run);
    console.info(
      ["\n   total     load      run  tests  file (seconds)", ...[...costs.slice(0, SHOWN), sumOf(costs)].map(row), ""].join("\n"),
    );
  },
};
