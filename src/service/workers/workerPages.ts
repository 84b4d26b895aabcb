import type { Across } from "../../platform/telemetry/series.ts";

interface Family {
  /** The lines before its samples. */
  readonly head: readonly string[];
  readonly type: string;
  /** By name and labels, as they stand on the page. */
  readonly samples: Map<string, number>;
}

type Page = ReadonlyMap<string, Family>;

/** Reads a page in Prometheus' text format, as ours are: each sample behind the head of its family. */
const parsePage = (text: string): Page => {
  const page = new Map<string, Family>();
  let help: string[] = [];
  let family: Family | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("# HELP ")) help = [line];
    else if (line.startsWith("# TYPE ")) {
      const [, , name = "", type = ""] = line.split(" ");
      family = { head: [...help, line], type, samples: new Map() };
      page.set(name, family);
    } else if (line !== "") {
      const end = line.lastIndexOf(" ");
      family?.samples.set(line.slice(0, end), Number(line.slice(end + 1)));
    }
  }
  return page;
};

const combined: Readonly<Record<Across, (a: number, b: number) => number>> = { sum: (a, b) => a + b, max: Math.max, min: Math.min };

/** Adds a page to what the others have. @param counts only what is counted since a start: no gauges. */
const addPage = (to: Map<string, Family>, page: Page, across: (name: string) => Across, counts: "all" | "counts"): void => {
  for (const [name, { head, type, samples }] of page) {
    const isGauge = type === "gauge";
    if (isGauge && counts === "counts") continue;
    let family = to.get(name);
    if (family === undefined) {
      family = { head, type, samples: new Map() };
      to.set(name, family);
    }
    const combine = combined[isGauge ? across(name) : "sum"];
    for (const [series, value] of samples) {
      const other = family.samples.get(series);
      // Some have no value before their process measured it.
      if (other === undefined || Number.isNaN(other)) family.samples.set(series, value);
      else if (!Number.isNaN(value)) family.samples.set(series, combine(other, value));
    }
  }
};

/** The metrics of several processes as one page. */
export interface WorkerPages {
  /** Takes the latest page of a worker, in the place of the one before. */
  readonly take: (worker: number, text: string) => void;
  /** The worker has ended. What it had counted stays, so that no counter goes backwards. */
  readonly retire: (worker: number) => void;
  /** Counters, histograms and summaries are summed, gauges combined as `across` says. @param own page of the process that asks. */
  readonly render: (own: string) => string;
}

export const createWorkerPages = (across: (name: string) => Across): WorkerPages => {
  const latest = new Map<number, Page>();
  const retired = new Map<string, Family>();
  return {
    take: (worker, text) => void latest.set(worker, parsePage(text)),
    retire: (worker) => {
      const page = latest.get(worker);
      latest.delete(worker);
      if (page) addPage(retired, page, across, "counts");
    },
    render: (own) => {
      const all = new Map<string, Family>();
      for (const page of [...latest.values(), retired, parsePage(own)]) addPage(all, page, across, "all");
      const texts = Array.from(all.values(), ({ head, samples }) =>
        [...head, ...Array.from(samples, ([series, value]) => `${series} ${value}`)].join("\n"),
      );
      return `${texts.join("\n\n")}\n`;
    },
  };
};
