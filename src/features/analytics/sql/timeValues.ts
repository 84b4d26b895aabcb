/** A value that a `time` was compared with, as the engine evaluated it. */
export interface TimeValue {
  /** The engine's name of its type. */
  readonly type: string;
  /** Of an integer: the number as it was written. */
  readonly number: number | undefined;
  /** Of a date, a time, or a text that reads as one: Unix ms. */
  readonly instant: number | undefined;
}

/** Columns by which the engine evaluates an expression, in the order that `readTimeValue` takes them. */
export const timeValueColumns = (expression: string): string =>
  `toTypeName(${expression}), toString(${expression}), ` +
  `ifNull(toString(toUnixTimestamp64Milli(accurateCastOrNull(${expression}, 'DateTime64(3, \\'UTC\\')'))), '')`;

/** @param columns the three that `timeValueColumns` asked for. */
export const readTimeValue = ([type = "", text = "", instant = ""]: readonly string[]): TimeValue => {
  const isInteger = /^U?Int\d+$/.test(type);
  const isTime = /^(Date|DateTime|Date32|DateTime64|String)\b/.test(type);
  return {
    type,
    number: isInteger ? Number(text) : undefined,
    instant: isTime && instant !== "" ? Number(instant) : undefined,
  };
};

/** A whole number that was written out: needs no engine. */
export const plainTimeValue = (expression: string): TimeValue | undefined =>
  /^-?\d{1,18}$/.test(expression) ? { type: "Int64", number: Number(expression), instant: undefined } : undefined;
