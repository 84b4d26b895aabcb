import { queryFunctions } from "./queryFunctions.ts";

/** What syntax turns into: operators, literals, CASE, TRIM, DISTINCT inside an aggregate. */
const ofSyntax = [
  ...["equals", "notEquals", "less", "greater", "lessOrEquals", "greaterOrEquals", "and", "or", "not"],
  ...["like", "notLike", "ilike", "notILike", "in", "notIn", "globalIn", "globalNotIn", "isNull", "isNotNull", "exists"],
  ...["plus", "minus", "multiply", "divide", "modulo", "intDiv", "negate"],
  ...["array", "tuple", "arrayElement", "tupleElement", "lambda"],
  ...["multiIf", "caseWithExpression", "trimBoth", "trimLeft", "trimRight"],
  ...["countDistinct", "sumDistinct", "avgDistinct", "minDistinct", "maxDistinct", "anyDistinct", "groupArrayDistinct"],
];

/** Of these, what is also a keyword of the same spelling; `not` and `exists` look the same as a call. */
const keywords: ReadonlySet<string> = new Set(["and", "or", "not", "like", "ilike", "in", "exists"]);

/** What callers may write as an operator or a literal, but not call by name: in lower case. */
const uncallable: ReadonlySet<string> = new Set([
  ...ofSyntax.map((name) => name.toLowerCase()).filter((name) => !keywords.has(name)),
  // What the parser turns into operators and listed functions.
  ...["ltrim", "rtrim", "date_add", "dateadd", "date_sub", "datesub"],
  ...["timestamp_add", "timestampadd", "timestamp_sub", "timestampsub"],
]);

const spellings: ReadonlyMap<string, string> = new Map([...queryFunctions, ...ofSyntax].map((name) => [name.toLowerCase(), name]));

/** The engine's spelling of an allowed function; undefined for any other. */
export const allowedFunction = (name: string): string | undefined => spellings.get(name.toLowerCase());

/** Whether a name that a caller wrote before a parenthesis calls what has no function's name in analytics §3. */
export const isUncallable = (name: string): boolean => uncallable.has(name.toLowerCase());

/** Whether a word right before a parenthesis, as the formatter writes calls but no operators, is an operator's. */
export const isOperatorCall = (name: string): boolean => /^(and|or|like|ilike|in)$/i.test(name);
