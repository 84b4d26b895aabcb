import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const deploy = join(import.meta.dirname, "../../deploy");

/** A query as Prometheus takes it. */
export interface MonitoringQuery {
  /** Panel or alert. */
  readonly where: string;
  readonly query: string;
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string }[];
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The panels of the dashboard, with their rows. */
export const panels = (): readonly Panel[] =>
  (JSON.parse(readFileSync(join(deploy, "grafana/latchkey.json"), "utf8")) as { panels: Panel[] }).panels;

export const alertRules = (): readonly Rule[] =>
  (parse(readFileSync(join(deploy, "prometheus/alerts.yaml"), "utf8")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    ({ rules }) => rules,
  );

/** As Grafana would send them, of all jobs and instances. */
export const dashboardQueries = (): readonly MonitoringQuery[] =>
  panels().flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({
      where: `panel "${title}"`,
      query: expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*").replaceAll("$instance", ".*"),
    })),
  );

/** The compared side of each alert, without its bound: it must have a value even while nothing fails. */
export const alertQueries = (): readonly MonitoringQuery[] =>
  alertRules().map(({ alert, expr }) => ({ where: `alert ${alert}`, query: expr.replace(/ (?:==|<|>) [\d. *]+$/, "") }));
