/** Functions that a query may call (analytics §3), in the spelling of the engine; callers may write any case. */
const listed = [
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

/** What syntax turns into: operators, literals, CASE, TRIM, DISTINCT inside an aggregate. */
const ofSyntax = [
  ...["equals", "notEquals", "less", "greater", "lessOrEquals", "greaterOrEquals", "and", "or", "not"],
  ...["like", "notLike", "ilike", "notILike", "in", "notIn", "globalIn", "globalNotIn", "isNull", "isNotNull", "exists"],
  ...["plus", "minus", "multiply", "divide", "modulo", "intDiv", "negate"],
  ...["array", "tuple", "arrayElement", "tupleElement", "lambda"],
  ...["multiIf", "caseWithExpression", "trimBoth", "trimLeft", "trimRight"],
  ...["countDistinct", "sumDistinct", "avgDistinct", "minDistinct", "maxDistinct", "anyDistinct", "groupArrayDistinct"],
];

const spellings: ReadonlyMap<string, string> = new Map([...listed, ...ofSyntax].map((name) => [name.toLowerCase(), name]));

/** The engine's spelling of an allowed function; undefined for any other. */
export const allowedFunction = (name: string): string | undefined => spellings.get(name.toLowerCase());
