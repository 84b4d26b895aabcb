/**
 * Numbers that are recorded far more often than they are read: recording touches a few of them in memory, and the text
 * (Prometheus' format 0.0.4) is made when someone asks for it.
 */
export interface Family<R> {
  readonly head: FamilyHead;
  /** The recorder of one series, by label values in the order of the label names. Bind it once where calls are frequent. */
  readonly bind: (...values: readonly string[]) => R;
  /** All series, with their head, in Prometheus' text format. */
  readonly render: () => string;
}

/** Name, meaning and labels of a metric. */
export interface Head {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** How the values that several processes have of a gauge become one. */
export type Across = "sum" | "max" | "min";

export interface GaugeHead extends Head {
  readonly across: Across;
}

/** What a family is, without its values. */
export interface FamilyHead extends Head {
  readonly type: "counter" | "gauge" | "histogram" | "summary";
  /** Of a gauge; all else is summed. */
  readonly across?: Across;
}

/** One value of a gauge that is read when the page is made, with its label values in the order of the label names. */
export type Sample = readonly [labelValues: readonly string[], value: number];

const escapeValue = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

const labelText = (names: readonly string[], values: readonly string[]): string =>
  names.map((name, i) => `${name}="${escapeValue(values[i] ?? "")}"`).join(",");

const inBraces = (labels: string): string => (labels === "" ? "" : `{${labels}}`);

/** @param create makes a series and its recorder; `lines` are its samples for the text of its labels. */
const createFamily = <R>(
  own: Head,
  type: FamilyHead["type"],
  create: () => { readonly recorder: R; readonly lines: (name: string, labels: string) => readonly string[] },
): Family<R> => {
  const { name, help, labels } = own;
  const series = new Map<string, ReturnType<typeof create>>();
  return {
    head: { ...own, type },
    bind: (...values) => {
      const key = labelText(labels, values);
      let found = series.get(key);
      if (found === undefined) {
        found = create();
        series.set(key, found);
      }
      return found.recorder;
    },
    render: () =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...[...series].flatMap(([key, { lines }]) => lines(name, key))].join("\n"),
  };
};

/** The recorder adds 1, or what it is given. */
export const createCounter = (head: Head): Family<(by?: number) => void> =>
  createFamily(head, "counter", () => {
    let count = 0;
    return {
      recorder: (by = 1) => {
        count += by;
      },
      lines: (name, labels) => [`${name}${inBraces(labels)} ${count}`],
    };
  });

/** The recorder sets the value. */
export const createGauge = (head: GaugeHead): Family<(value: number) => void> =>
  createFamily(head, "gauge", () => {
    let current = 0;
    return {
      recorder: (value) => {
        current = value;
      },
      lines: (name, labels) => [`${name}${inBraces(labels)} ${current}`],
    };
  });

/** A gauge whose values are known elsewhere, in Prometheus' text format. */
export const renderSamples = ({ name, help, labels }: Head, samples: readonly Sample[]): string =>
  [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...samples.map(([values, value]) => `${name}${inBraces(labelText(labels, values))} ${value}`),
  ].join("\n");

/** The recorder takes a value; published are their sum and their count, from which a mean is made. */
export const createSummary = (head: Head): Family<(value: number) => void> =>
  createFamily(head, "summary", () => {
    let sum = 0;
    let count = 0;
    return {
      recorder: (value) => {
        sum += value;
        count++;
      },
      lines: (name, labels) => [`${name}_sum${inBraces(labels)} ${sum}`, `${name}_count${inBraces(labels)} ${count}`],
    };
  });

/** The recorder takes a value; `bounds` are the upper ends of the buckets, ascending. */
export const createHistogram = (head: Head, bounds: readonly number[]): Family<(value: number) => void> =>
  createFamily(head, "histogram", () => {
    const counts = new Float64Array(bounds.length + 1);
    let sum = 0;
    return {
      recorder: (value) => {
        let bucket = 0;
        while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
        counts[bucket] = (counts[bucket] as number) + 1;
        sum += value;
      },
      lines: (name, labels) => {
        let total = 0;
        const buckets = [...counts].map((count, i) => {
          total += count;
          return `${name}_bucket{${labels},le="${bounds[i] ?? "+Inf"}"} ${total}`;
        });
        return [...buckets, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${total}`];
      },
    };
  });
