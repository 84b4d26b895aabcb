/** Name, meaning and labels of a metric. */
export interface Head {
  readonly name: string;
  readonly help: string;
  /** None when left out. */
  readonly labels?: readonly string[];
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

const labelText = ({ labels = [] }: Head, values: readonly string[]): string =>
  labels.map((name, i) => `${name}="${escapeValue(values[i] ?? "")}"`).join(",");

const inBraces = (labels: string): string => (labels === "" ? "" : `{${labels}}`);

/** The recorder of one series, by label values in the order of the label names. Bind it once where calls are frequent. */
export type Bind<R> = (...labelValues: readonly string[]) => R;

/** Samples of one series, for the text of its labels. */
type Lines = (labels: string) => readonly string[];

/**
 * Numbers that are recorded far more often than they are read: recording touches a few of them in memory, and the text
 * (Prometheus' format 0.0.4) is made when someone asks for it.
 */
export interface Registry {
  /** The recorder adds 1, or what it is given. */
  readonly counter: (head: Head) => Bind<(by?: number) => void>;
  /** The recorder sets the value. */
  readonly gauge: (head: GaugeHead) => Bind<(value: number) => void>;
  /** The recorder takes a value; published are their sum and their count, from which a mean is made. */
  readonly summary: (head: Head) => Bind<(value: number) => void>;
  /** The recorder takes a value; `bounds` are the upper ends of the buckets, ascending. */
  readonly histogram: (head: Head, bounds: readonly number[]) => Bind<(value: number) => void>;
  /** A gauge whose values are known elsewhere: `read` is asked for them whenever the page is made, and must not wait for anything. */
  readonly observe: (head: GaugeHead, read: () => readonly Sample[]) => void;
  /** Of what was made, but for what is observed. */
  readonly heads: () => readonly FamilyHead[];
  /** All series behind the heads of their families, in the order in which those were made; then what is observed. */
  readonly render: () => string;
}

export const createRegistry = (): Registry => {
  const families: { readonly head: FamilyHead; readonly lines: () => readonly string[] }[] = [];
  const observed = new Map<GaugeHead, () => readonly Sample[]>();

  const add = <R>(own: Head, type: FamilyHead["type"], create: () => { readonly recorder: R; readonly lines: Lines }): Bind<R> => {
    const series = new Map<string, ReturnType<typeof create>>();
    families.push({ head: { ...own, type }, lines: () => [...series].flatMap(([labels, { lines }]) => lines(labels)) });
    return (...values) => {
      const key = labelText(own, values);
      let found = series.get(key);
      if (found === undefined) {
        found = create();
        series.set(key, found);
      }
      return found.recorder;
    };
  };

  const text = ({ name, help }: Head, type: FamilyHead["type"], lines: readonly string[]): string =>
    [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join("\n");

  return {
    counter: (head) =>
      add(head, "counter", () => {
        let count = 0;
        return {
          recorder: (by = 1) => {
            count += by;
          },
          lines: (labels) => [`${head.name}${inBraces(labels)} ${count}`],
        };
      }),
    gauge: (head) =>
      add(head, "gauge", () => {
        let current = 0;
        return {
          recorder: (value) => {
            current = value;
          },
          lines: (labels) => [`${head.name}${inBraces(labels)} ${current}`],
        };
      }),
    summary: (head) =>
      add(head, "summary", () => {
        let sum = 0;
        let count = 0;
        return {
          recorder: (value) => {
            sum += value;
            count++;
          },
          lines: (labels) => [`${head.name}_sum${inBraces(labels)} ${sum}`, `${head.name}_count${inBraces(labels)} ${count}`],
        };
      }),
    histogram: (head, bounds) =>
      add(head, "histogram", () => {
        const counts = new Float64Array(bounds.length + 1);
        let sum = 0;
        return {
          recorder: (value) => {
            let bucket = 0;
            while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++;
            counts[bucket] = (counts[bucket] as number) + 1;
            sum += value;
          },
          lines: (labels) => {
            let total = 0;
            const buckets = [...counts].map((count, i) => {
              total += count;
              return `${head.name}_bucket{${labels},le="${bounds[i] ?? "+Inf"}"} ${total}`;
            });
            return [...buckets, `${head.name}_sum{${labels}} ${sum}`, `${head.name}_count{${labels}} ${total}`];
          },
        };
      }),
    observe: (head, read) => void observed.set(head, read),
    heads: () => families.map(({ head }) => head),
    render: () =>
      [
        ...families.map(({ head, lines }) => text(head, head.type, lines())),
        ...Array.from(observed, ([head, read]) =>
          text(
            head,
            "gauge",
            read().map(([values, value]) => `${head.name}${inBraces(labelText(head, values))} ${value}`),
          ),
        ),
      ].join("\n\n"),
  };
};
