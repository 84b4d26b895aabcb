/** Functions that a query may call (analytics §3), in the spelling of the engine; callers may write any case. */
export const queryFunctions: readonly string[] = [
  ...["count", "sum", "avg", "min", "max", "any", "groupArray", "groupUniqArray", "uniq", "uniqExact", "quantile", "countIf", "sumIf"],
  ...["now", "now64", "today", "toDate", "toDateTime", "toDateTime64", "toStartOfMinute", "toStartOfHour", "toStartOfDay"],
  ...["toStartOfWeek", "toStartOfMonth", "toStartOfQuarter", "toStartOfYear", "date_trunc", "formatDateTime"],
  ...["fromUnixTimestamp64Milli", "toUnixTimestamp64Milli"],
  ...["Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year"].map(
    (unit) => `toInterval${unit}`,
  ),
  ...["lower", "upper", "substring", "concat", "length", "trim", "startsWith", "endsWith"],
  ...["round", "floor", "ceil", "abs", "if", "coalesce", "toString", "toInt32", "toInt64", "toFloat64"],
  ...["has", "hasAny", "hasAll", "arrayJoin", "arrayFilter", "JSONExtractString"],
];
