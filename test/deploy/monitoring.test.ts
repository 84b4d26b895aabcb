import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { reasons } from "../../src/platform/base/errors.ts";
import { configVariables } from "../../src/platform/config/loadConfig.ts";
import { alertQueries, alertRules, dashboardQueries, panels } from "./monitoringQueries.ts";

const root = join(import.meta.dirname, "../..");
const runbooks = join(root, "docs/runbooks");
const settings = new Set(configVariables.map(({ name }) => name));

/** Names of settings in a text: capitals with an underscore, as none of the other words have. */
const settingsIn = (text: string): readonly string[] =>
  (text.match(/\b[A-Z]{3,}(?:_[A-Z]+)+\b/g) ?? []).filter((name) => !["INSUFFICIENT_PERMISSIONS"].includes(name));

describe("the dashboard", () => {
  test("it has a row for each of the operator's questions, and says of every panel what it shows", () => {
    const rows = panels().filter(({ type }) => type === "row");
    expect(rows.map(({ title }) => title)).toEqual([
      "Traffic and outcomes",
      "Latency by edge",
      "Who is being throttled, and which setting to turn",
      "Store",
      "Changes feed",
      "Limits",
      "Analytics",
      "Process",
      "Console",
    ]);
    for (const panel of panels())
      if (panel.type !== "row") expect([panel.title, panel.description?.length]).toEqual([panel.title, expect.any(Number)]);
  });

  test("every query is limited to the job and instance that were chosen", () => {
    for (const { where, query } of dashboardQueries()) {
      const metrics = query.match(/\b(?:latchkey|nodejs|process)_\w+/g) ?? [];
      expect([where, query.match(/\{job=~"\.\*",instance=~"\.\*"/g)?.length]).toEqual([where, metrics.length]);
    }
  });

  test("alerts about exhausted resources name an existing setting, and outcomes that exist", () => {
    const panel = JSON.stringify(panels().find(({ title }) => title.startsWith("Refused, by cause")));
    expect(settingsIn(panel).length).toBeGreaterThan(4);
    for (const name of settingsIn(panel)) expect(settings).toContain(name);
    const outcomes = /outcome=~\\+"([a-z_|]+)/.exec(panel)?.[1]?.split("|") ?? [];
    expect(outcomes.length).toBeGreaterThan(2);
    for (const outcome of outcomes) expect(reasons).toHaveProperty(outcome);
  });
});

describe("the alerts", () => {
  test("each has a runbook with the same parts, and no runbook is for nothing", () => {
    const pages = readdirSync(runbooks)
      .filter((file) => file !== "README.md")
      .map((file) => file.replace(".md", ""));
    expect(pages.sort()).toEqual(
      alertRules()
        .map(({ alert }) => alert)
        .sort(),
    );
    for (const { alert, annotations } of alertRules()) {
      expect(annotations.runbook_url).toBe(`docs/runbooks/${alert}.md`);
      expect(annotations.summary).toMatch(/\.$/);
      const page = readFileSync(join(runbooks, `${alert}.md`), "utf8");
      expect(page.match(/^#.*$/gm)).toEqual([`# ${alert}`, "## What to look at", "## What to change"]);
      for (const name of settingsIn(page)) expect([alert, settings.has(name)]).toEqual([alert, true]);
      for (const [, link = ""] of page.matchAll(/\]\(([^)]+)\)/g)) expect(existsSync(join(runbooks, link)), link).toBe(true);
      const titles = new Set(panels().map(({ title }) => title));
      for (const [, names = ""] of page.matchAll(/[Pp]anels? ((?:\*[^*]+\*(?:, | and )?)+)/g))
        for (const [, name = ""] of names.matchAll(/\*([^*]+)\*/g)) expect([alert, name, titles.has(name)]).toEqual([alert, name, true]);
    }
  });

  test("every alert is tested, and compares something that has a value while nothing is wrong", () => {
    const tests = readFileSync(join(root, "deploy/prometheus/alerts.test.yaml"), "utf8");
    for (const { alert } of alertRules()) expect(tests).toContain(`alertname: ${alert}`);
    for (const [i, { query }] of alertQueries().entries()) expect(query).not.toBe(alertRules()[i]?.expr);
  });
});
