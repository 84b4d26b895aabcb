import type { Fields } from "../applyUpdate.ts";
import { indexes } from "../indexes.ts";
import { toStored } from "./documentText.ts";

type Parameter = string | number;

export interface Sql {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

export type Sort = Readonly<Record<string, 1 | -1>>;

const fieldName = /^[A-Za-z]\w*$/;

/** The expression that stands for a field; declared indexes are on the same one. */
export const fieldSql = (field: string): string => {
  if (field === "_id") return "id";
  if (!fieldName.test(field)) throw new TypeError(`not a top-level field: ${field}`);
  return `json_extract(doc,'$.${field}')`;
};

const ranges: Readonly<Record<string, string>> = { $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" };
const jsonTypes = { string: "'text'", number: "'integer','real'", boolean: "'true','false'" } as const;

/** SQLite reads true as 1, a list as its text, and sorts every number before every text: the type tells them apart. */
const hasType = (field: string, type: keyof typeof jsonTypes): string =>
  field === "_id" ? (type === "string" ? "1" : "0") : `json_type(doc,'$.${field}') IN (${jsonTypes[type]})`;

const comparable = (field: string, value: unknown): string | number | boolean => {
  const stored = toStored(value);
  if (typeof stored === "string") return stored.toWellFormed();
  if (typeof stored === "boolean" || (typeof stored === "number" && !Number.isNaN(stored))) return stored;
  throw new TypeError(`cannot compare ${field} with ${value === null ? "null" : typeof value}`);
};

const parameter = (value: string | number | boolean): Parameter => (typeof value === "boolean" ? Number(value) : value);
const typeOf = (value: string | number | boolean): keyof typeof jsonTypes => typeof value as keyof typeof jsonTypes;
const looksLikeJson = (value: unknown): boolean => typeof value === "string" && (value.startsWith("[") || value.startsWith("{"));

const oneOf = (field: string, list: unknown, parameters: Parameter[]): string => {
  if (!Array.isArray(list)) throw new TypeError("$in needs a list");
  const values = list.map((value) => comparable(field, value));
  const parts = (["string", "number", "boolean"] as const).flatMap((type) => {
    const members = values.filter((value) => typeof value === type).map(parameter);
    if (members.length === 0) return [];
    parameters.push(JSON.stringify(members));
    const among = `${fieldSql(field)} IN (SELECT value FROM json_each(?))`;
    return [type === "string" && !members.some(looksLikeJson) ? among : `${among} AND ${hasType(field, type)}`];
  });
  return parts.length === 0 ? "0" : `(${parts.join(" OR ")})`;
};

const equals = (field: string, value: unknown, parameters: Parameter[]): string => {
  const operand = comparable(field, value);
  parameters.push(parameter(operand));
  const same = `${fieldSql(field)}=?`;
  // Text equals nothing but text, and lists and objects, whose text starts with a bracket.
  return typeof operand === "string" && (field === "_id" || !looksLikeJson(operand))
    ? same
    : `${same} AND ${hasType(field, typeOf(operand))}`;
};

/** The inverse of `containsText`. */
const literalOf = (escaped: string): string => escaped.replace(/\\(x00|.)/gs, (_, kept: string) => (kept === "x00" ? "\0" : kept));

const operator = (field: string, name: string, operand: unknown, parameters: Parameter[]): string => {
  if (name === "$in") return oneOf(field, operand, parameters);
  if (name === "$exists") return `${fieldSql(field)} IS ${operand === true ? "NOT " : ""}NULL`;
  if (name === "$regex" && typeof operand === "string") {
    parameters.push(literalOf(operand).toWellFormed());
    return `${hasType(field, "string")} AND instr(${fieldSql(field)},?)>0`;
  }
  const comparison = ranges[name];
  if (comparison === undefined) throw new TypeError(`unknown operator ${name}`);
  const value = comparable(field, operand);
  parameters.push(parameter(value));
  return `${fieldSql(field)}${comparison}? AND ${hasType(field, typeOf(value))}`;
};

const isOperators = (condition: unknown): condition is Fields =>
  typeof condition === "object" && condition !== null && !(condition instanceof Date) && !Array.isArray(condition);

const condition = (field: string, wanted: unknown, parameters: Parameter[]): string[] =>
  isOperators(wanted)
    ? Object.entries(wanted).map(([name, operand]) => operator(field, name, operand, parameters))
    : [equals(field, wanted, parameters)];

/**
 * The workspace is the same in every document, so an index that can use nothing else is worse than none. SQLite does
 * not know that; a unary plus keeps it from trying.
 */
const workspaceSelects = (collection: string, used: readonly string[]): boolean =>
  indexes.some(
    ({ collection: owner, fields: [first, second] }) =>
      owner === collection && first === "workspaceId" && second !== undefined && second !== "_id" && used.includes(second),
  );

const conjunction = (collection: string, filter: Fields, sorted: readonly string[], parameters: Parameter[]): string => {
  const used = [...Object.keys(filter), ...sorted];
  const parts = Object.entries(filter).flatMap(([field, wanted]) => {
    if (field !== "$or") {
      const conditions = condition(field, wanted, parameters);
      return field === "workspaceId" && !workspaceSelects(collection, used) ? conditions.map((text) => `+${text}`) : conditions;
    }
    if (!Array.isArray(wanted) || wanted.length === 0) throw new TypeError("$or needs at least one member");
    return [`(${wanted.map((member: Fields) => `(${conjunction(collection, member, sorted, parameters)})`).join(" OR ")})`];
  });
  return parts.length === 0 ? "1" : parts.join(" AND ");
};

/**
 * `WHERE … [ORDER BY …] [LIMIT ?]` for a filter of the port, judged as MongoDB would. Throws a `TypeError` for what
 * the port does not know, and for a comparison with undefined, which must not widen a filter.
 */
export const filterToSql = (collection: string, filter: Fields, sort: Sort = {}, limit?: number): Sql => {
  const parameters: Parameter[] = [];
  const sorted = Object.keys(sort);
  let text = ` WHERE ${conjunction(collection, filter, sorted, parameters)}`;
  if (sorted.length > 0) text += ` ORDER BY ${sorted.map((field) => fieldSql(field) + (sort[field] === -1 ? " DESC" : "")).join(",")}`;
  if (limit !== undefined && limit > 0) {
    text += " LIMIT ?";
    parameters.push(limit);
  }
  return { text, parameters };
};
