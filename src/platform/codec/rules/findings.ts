/**
 * A violation on its way up: `location` is relative to the value that is being looked at, and every level that it
 * passes puts its own segment in front. So a valid body never builds a path.
 */
export interface Finding {
  location: string;
  readonly message: string;
  readonly fix?: string;
}

/** Looks at one value and adds what is wrong with it. */
export type Check<T> = (value: T, findings: Finding[]) => void;

/** More than this many findings are not reported, so that a body of nonsense cannot make a far larger answer. */
export const mostFindings = 1000;

/** Adds a finding about the value itself, or about what `location` (`.name`, `[1].limit`) leads to. */
export const report = (findings: Finding[], message: string, fix?: string, location = ""): void => {
  if (!isFull(findings)) findings.push(fix === undefined ? { location, message } : { location, message, fix });
};

/** Whether nothing more would be reported. */
const isFull = (findings: readonly Finding[]): boolean => findings.length >= mostFindings;

/** Puts a segment (`.name`, `[3]`, `body`) in front of every finding from `from` on. */
export const prefixFindings = (findings: Finding[], from: number, segment: string): void => {
  for (let i = from; i < findings.length; i++) (findings[i] as Finding).location = segment + (findings[i] as Finding).location;
};

const articles: Readonly<Record<string, string>> = { integer: "an integer, without quotes", array: "an array", object: "an object" };

/** What JSON calls the type of a value. */
const typeName = (json: unknown): string => (json === null ? "null" : Array.isArray(json) ? "array" : typeof json);

/** `got string, want boolean`. */
export const reportType = (findings: Finding[], got: unknown, want: string): void =>
  report(
    findings,
    `got ${typeName(got)}, want ${want}`,
    got === null ? "leave it out or send a value" : `send ${articles[want] ?? `a ${want}`}`,
  );

/** A required field that is not there. */
export const reportMissing = (findings: Finding[], name: string): void =>
  report(findings, `missing property '${name}'`, undefined, `.${name}`);

const longestName = 100;
/** Letters and digits as in keys and other secrets: no name of a field has so many in a row, digits among them. */
const secretPart = /(?=[A-Za-z]*\d)[A-Za-z\d]{16,}|[A-Za-z]{32,}/g;
/** Of such a part, as much as is shown of a key. */
const shownOfSecret = 4;

/** A name as it may be repeated: never a secret that was sent in its place (protocol §5), and not much longer than names are. */
const shownName = (name: string): string => {
  // A secret that begins in what is shown is found whole.
  const masked = name.slice(0, 2 * longestName).replace(secretPart, (part) => `${part.slice(0, shownOfSecret)}…`);
  return masked.length > longestName ? `${masked.slice(0, longestName)}…` : masked;
};

/** A field that the message does not have. */
export const reportUnknown = (findings: Finding[], name: string): void => {
  if (isFull(findings)) return;
  const shown = shownName(name);
  report(findings, `additional property '${shown}'`, "remove it", `.${shown}`);
};
