import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../harness/freePort.ts";
import { eventually, startProgram } from "./startProgram.ts";

/** One minute of the rules lasts so many seconds here. */
const MINUTE = 6;

/** When an alert fired, in milliseconds of `performance.now()`. */
export interface Firing {
  readonly name: string;
  readonly from: number;
  /** Undefined while it fires. */
  to: number | undefined;
}

export interface Prometheus extends AsyncDisposable {
  /** All firings so far, in their order. */
  readonly firings: () => readonly Firing[];
  /** Resolves once an alert of that name has fired since `since`. */
  readonly fired: (name: string, since: number) => Promise<void>;
  /** Resolves once none of these fires any more. */
  readonly cleared: (names: readonly string[]) => Promise<void>;
}

const rules = join(import.meta.dirname, "../../deploy/prometheus/alerts.yaml");

/** The deployed rules with every minute in a `for` or a range shortened. */
export const shortenedRules = (): string =>
  readFileSync(rules, "utf8").replace(
    /(for: |\[)(\d+)m\b/g,
    (_, before: string, minutes: string) => `${before}${Number(minutes) * MINUTE}s`,
  );

/**
 * Starts Prometheus, which scrapes the nodes and evaluates the deployed alerts every second.
 * @param directory gets what it writes. @param nodes `host:port` of their admin ports.
 */
export const startPrometheus = async (directory: string, nodes: readonly string[]): Promise<Prometheus> => {
  const port = await freePort();
  const [config, alerts] = [join(directory, "prometheus.yml"), join(directory, "alerts.yaml")];
  writeFileSync(alerts, shortenedRules());
  writeFileSync(
    config,
    JSON.stringify({
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [alerts],
      scrape_configs: [{ job_name: "latchkey", static_configs: [{ targets: nodes }] }],
    }),
  );
  const program = await startProgram("prometheus", [
    `--config.file=${config}`,
    `--storage.tsdb.path=${directory}/prometheus`,
    `--web.listen-address=127.0.0.1:${port}`,
    "--log.level=error",
  ]);
  const url = `http://127.0.0.1:${port}`;
  await eventually("Prometheus answers", 20, async () => {
    if (program.hasEnded()) throw new Error(`Prometheus ended: ${program.complaints()}`);
    return fetch(`${url}/-/ready`).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );
  });
  const firings: Firing[] = [];
  const look = async (): Promise<void> => {
    const answer = await fetch(`${url}/api/v1/alerts`).catch(() => undefined);
    if (!answer?.ok) return;
    const { data } = (await answer.json()) as { data: { alerts: { state: string; labels: { alertname: string } }[] } };
    const firing = new Set(data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels.alertname));
    const now = performance.now();
    for (const known of firings) if (known.to === undefined && !firing.delete(known.name)) known.to = now;
    for (const name of firing) firings.push({ name, from: now, to: undefined });
  };
  const looking = setInterval(() => void look(), 500);
  return {
    firings: () => firings,
    fired: (name, since) =>
      eventually(`${name} fires`, 90, () => firings.some((firing) => firing.name === name && firing.from >= since) || undefined).then(
        () => undefined,
      ),
    cleared: (names) =>
      eventually(`${names.join(", ")} clear`, 90, () => {
        const left = firings.some(({ name, to }) => to === undefined && names.includes(name));
        return left ? undefined : true;
      }).then(() => undefined),
    [Symbol.asyncDispose]: async () => {
      clearInterval(looking);
      await program[Symbol.asyncDispose]();
    },
  };
};
