import type { DescribedField } from "../../platform/rpc/description/describeField.ts";
import { isObject } from "../../platform/util/isObject.ts";
import { UsageError } from "../command.ts";
import { instantOf } from "../expiry.ts";
import { kebab } from "./flags.ts";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const integerOf = (text: string): number | undefined => {
  const value = /^-?\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return Number.isSafeInteger(value) ? value : undefined;
};

const durationOf = (text: string): number | undefined => {
  const [, count, unit = ""] = /^(\d{1,9})(ms|[smhdw])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (units[unit] ?? Number.NaN);
};

/** Also `now`, and `-7d`: before now. */
const timeOf = (text: string, now: number): number | undefined => {
  if (text === "now") return now;
  const ago = /^-(\d.*)$/.exec(text);
  if (ago === null) return instantOf(text, now);
  const length = durationOf(ago[1] ?? "");
  return length === undefined ? undefined : now - length;
};

/** The years of RFC 3339 have four digits. */
const timestampOf = (name: string, unixMs: number): string => {
  const year = new Date(unixMs).getUTCFullYear();
  if (year >= 0 && year <= 9_999) return new Date(unixMs).toISOString();
  throw new UsageError(`--${name}: lies outside of the years 0 to 9999`);
};

const known = <V>(name: string, text: string, value: V | undefined, want: string): V => {
  if (value !== undefined) return value;
  throw new UsageError(`--${name}: ${JSON.stringify(text)} is ${want}`);
};

/** The message says where JSON ends to be some, and repeats nothing of it. */
const readObject = (name: string, text: string): Readonly<Record<string, unknown>> => {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new UsageError(`--${name}: not JSON; write an object such as '{"plan":"pro"}'`);
  }
  if (!isObject(json)) throw new UsageError(`--${name}: want a JSON object such as '{"plan":"pro"}'`);
  return json;
};

/** `name=requests,limit=10,duration=1m,auto-apply`: the members of one object, none of which is itself one. */
const readPairs = (name: string, text: string, fields: readonly DescribedField[], now: number): Record<string, unknown> => {
  const object: Record<string, unknown> = {};
  for (const pair of text.split(",")) {
    const [, key = "", , value] = /^([^=]*)(=(.*))?$/s.exec(pair) ?? [];
    const field = fields.find((each) => each.name === key || kebab(each.name) === key);
    if (field === undefined) {
      const names = fields.map((each) => each.name).join(", ");
      throw new UsageError(
        `--${name}: no ${JSON.stringify(key)} in it; write ${names} as NAME=VALUE with commas between, or all of it as JSON`,
      );
    }
    if (field.isList || field.kind === "object") throw new UsageError(`--${name}: ${field.name} needs all of it as JSON`);
    if (Object.hasOwn(object, field.name)) throw new UsageError(`--${name}: ${field.name} is given twice`);
    if (value === undefined && field.kind !== "boolean") throw new UsageError(`--${name}: ${field.name} has no value`);
    object[field.name] = readValue(`${name}: ${field.name}`, field, value ?? "true", now);
  }
  return object;
};

/**
 * The value of one option as JSON; of a list, one item. Bounds are for the service to judge. Throws a `UsageError` that names the
 * option and what it wants.
 */
export const readValue = (name: string, field: DescribedField, text: string, now: number): unknown => {
  if (field.kind === "integer") return known(name, text, integerOf(text), "not a whole number");
  if (field.kind === "duration") {
    return known(name, text, integerOf(text) ?? durationOf(text), "neither milliseconds nor a length such as 500ms, 30s, 5m, 12h, 30d");
  }
  if (field.kind === "time" || field.kind === "timestamp") {
    const want = "neither Unix milliseconds nor a time such as now, 30d, -7d, 2030-12-31 or 2030-12-31T12:00:00Z";
    const unixMs = known(name, text, (/^\d+$/.test(text) ? integerOf(text) : undefined) ?? timeOf(text, now), want);
    return field.kind === "time" ? unixMs : timestampOf(name, unixMs);
  }
  if (field.kind === "boolean") return known(name, text, { true: true, false: false }[text], "neither true nor false");
  if (field.kind === "struct") return readObject(name, text);
  if (field.kind === "object")
    return text.startsWith("{") || !field.isList ? readObject(name, text) : readPairs(name, text, field.fields, now);
  return text;
};
