/** One metric of a page, by its head. */
interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
}

const familiesOf = (page: string): readonly Family[] =>
  [...page.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$/gm)].map(([, name = "", help = "", type = ""]) => ({ name, help, type }));

/** Units that are no base unit, and types: neither belongs in a name. A counter server is a server. */
const foreign =
  /_(ms|millis|milliseconds|minutes|hours|days|kb|mb|kib|mib|kilobytes|megabytes|percent|counter(?!_server)|gauge|histogram|summary)(_|$)/;

/**
 * Lists what breaks the conventions of Prometheus on a page, which `promtool check metrics` checks as well: names in lower case,
 * base units, `_total` on counters and on nothing else, help for each, and no series twice.
 */
export const lintPage = (page: string): readonly string[] => {
  const families = familiesOf(page);
  const byName = new Map(families.map((family) => [family.name, family]));
  const problems = families.flatMap(({ name, type, help }) => [
    ...(/^[a-z][a-z0-9_]*$/.test(name) ? [] : [`${name}: not in lower case`]),
    ...(foreign.test(name) ? [`${name}: not a base unit, or a type`] : []),
    ...((type === "counter") === name.endsWith("_total") ? [] : [`${name}: a ${type}`]),
    ...(/_(count|sum|bucket|info)$/.test(name) && type !== "gauge" ? [`${name}: ends as only parts of others do`] : []),
    ...(help.length > 5 ? [] : [`${name}: without help`]),
  ]);
  if (byName.size !== families.length) problems.push("a head is there twice");
  const seen = new Set<string>();
  for (const line of page.split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [, series = "", name = "", labels = ""] = /^(([a-z_0-9]+)(?:\{(.*)\})?) \S+$/.exec(line) ?? [];
    if (series === "") problems.push(`not a sample: ${line}`);
    if (seen.has(series)) problems.push(`twice: ${series}`);
    seen.add(series);
    if (!byName.has(name) && !byName.has(name.replace(/_(count|sum|bucket)$/, ""))) problems.push(`without a head: ${name}`);
    for (const [, label = ""] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g))
      if (!/^[a-z][a-z_]*$/.test(label)) problems.push(`${name}: label ${label}`);
  }
  return problems;
};
