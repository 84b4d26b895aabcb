import { expect, test } from "vitest";
import { acrossProcesses } from "../../src/platform/telemetry/processMetrics.ts";
import type { Across } from "../../src/platform/telemetry/series.ts";
import { createWorkerPages } from "../../src/service/workers/workerPages.ts";
import { lintPage } from "../support/lintMetrics.ts";

const rules: Readonly<Record<string, Across>> = { latchkey_up: "min", latchkey_taken: "sum" };
const across = (name: string): Across => rules[name] ?? acrossProcesses(name);

const head = (name: string, type: string): string => `# HELP ${name} What it is.\n# TYPE ${name} ${type}`;
const page = (count: number, up: number, lag: string, started: number): string =>
  [
    `${head("latchkey_calls_total", "counter")}\nlatchkey_calls_total{kind="read, or \\"not\\""} ${count}`,
    `${head("latchkey_duration_seconds", "histogram")}\nlatchkey_duration_seconds_bucket{le="+Inf"} ${count}\nlatchkey_duration_seconds_sum{} 0.5\nlatchkey_duration_seconds_count{} ${count}`,
    `${head("latchkey_up", "gauge")}\nlatchkey_up ${up}`,
    `${head("latchkey_taken", "gauge")}\nlatchkey_taken{resource="calls"} ${count}`,
    `${head("nodejs_eventloop_lag_mean_seconds", "gauge")}\nnodejs_eventloop_lag_mean_seconds ${lag}`,
    `${head("process_start_time_seconds", "gauge")}\nprocess_start_time_seconds ${started}`,
  ].join("\n\n");
const own = `${head("process_start_time_seconds", "gauge")}\nprocess_start_time_seconds 5\n`;

const valuesOf = (text: string): Record<string, number> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );

test("counters are summed over workers; gauges are summed, or the highest or lowest, each by its own rule", () => {
  const pages = createWorkerPages(across);
  pages.take(1, page(3, 1, "Nan", 8));
  pages.take(2, page(4, 0, "0.25", 9));
  const text = pages.render(own);
  expect(valuesOf(text)).toEqual({
    'latchkey_calls_total{kind="read, or \\"not\\""}': 7,
    'latchkey_duration_seconds_bucket{le="+Inf"}': 7,
    "latchkey_duration_seconds_sum{}": 1,
    "latchkey_duration_seconds_count{}": 7,
    latchkey_up: 0,
    'latchkey_taken{resource="calls"}': 7,
    nodejs_eventloop_lag_mean_seconds: 0.25,
    process_start_time_seconds: 5,
  });
  expect(lintPage(text)).toEqual([]);
});

test("a worker that ended takes its gauges with it and leaves what it counted, however often it happens", () => {
  const pages = createWorkerPages(across);
  pages.take(1, page(3, 0, "0.5", 8));
  pages.take(2, page(4, 1, "0.25", 9));
  pages.retire(1);
  expect(valuesOf(pages.render(own))).toMatchObject({ "latchkey_duration_seconds_count{}": 7, latchkey_up: 1 });
  pages.take(1, page(2, 1, "0.1", 10));
  pages.take(2, page(5, 1, "0.1", 9));
  const taken = 'latchkey_taken{resource="calls"}';
  expect(valuesOf(pages.render(own))).toMatchObject({ "latchkey_duration_seconds_count{}": 10, [taken]: 7 });
  pages.retire(1);
  // One that never told anything has nothing to leave.
  pages.retire(3);
  expect(valuesOf(pages.render(own))).toMatchObject({ "latchkey_duration_seconds_count{}": 10, [taken]: 5 });
});
