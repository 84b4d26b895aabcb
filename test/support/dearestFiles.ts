import type { Reporter, TestModule } from "vitest/node";

const SHOWN = 20;

interface Cost {
  readonly file: string;
  readonly tests: number;
  /** Milliseconds: importing the file and what it imports, its hooks and tests, both. */
  readonly load: number;
  readonly run: number;
  readonly total: number;
}

const costOf = (module: TestModule): Cost => {
  const { collectDuration, setupDuration, prepareDuration, environmentSetupDuration, duration } = module.diagnostic();
  const load = collectDuration + setupDuration + prepareDuration + environmentSetupDuration;
  return {
    file: module.relativeModuleId,
    tests: [...module.children.allTests()].length,
    load,
    run: duration,
    total: load + duration,
  };
};

const seconds = (milliseconds: number): string => (milliseconds / 1_000).toFixed(1).padStart(8);

const row = ({ file, tests, load, run, total }: Cost): string =>
  `${seconds(total)} ${seconds(load)} ${seconds(run)} ${String(tests).padStart(6)}  ${file}`;

/** The columns of all files added up: workers run side by side, so their sum is more than the time on the clock. */
const sum = (costs: readonly Cost[]): Cost =>
  costs.reduce(
    (all, each) => ({
      ...all,
      tests: all.tests + each.tests,
      load: all.load + each.load,
      run: all.run + each.run,
      total: all.total + each.total,
    }),
    { file: `${costs.length} files`, tests: 0, load: 0, run: 0, total: 0 },
  );

/** Prints the twenty test files that took longest, and what all took together, so that what makes the suite slow is seen at each run. */
export default class DearestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const costs = modules.map(costOf).sort((a, b) => b.total - a.total);
    if (costs.length < 2) return;
    const shown = process.env.LATCHKEY_TEST_ALL_FILES ? costs : costs.slice(0, SHOWN);
    console.info(["\n   total     load      run  tests  file (seconds)", ...shown.map(row), row(sum(costs)), ""].join("\n"));
  }
}
