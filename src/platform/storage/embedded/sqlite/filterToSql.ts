import type { Fields } from "../../port/applyUpdate.ts";
import type { CollectionName } from "../../port/documents.ts";
import { indexes } from "../../port/indexes.ts";
import { columnsOf } from "./columns.ts";
import { toStored } from "./documentText.ts";

type Parameter = string | number;
type Value = string | number | boolean;
type ValueType = "string" | "number" | "boolean";

export interface Sql {
  readonly text: string;
  readonly parameters: readonly Parameter[];
}

export type Sort = Readonly<Record<string, 1 | -1>>;

/** A field in SQL. */
interface Operand {
  readonly field: string;
  readonly sql: string;
  /**
   * Whether the field's value is of a type. SQLite reads true as 1 and a list as its text, and sorts every number
   * before every text: a comparison alone would find too much.
   */
  readonly is: Readonly<Record<ValueType, string>>;
  /** Lists and objects may stand there, as their JSON text. */
  readonly mixed: boolean;
}

const fieldName = /^[A-Za-z]\w*$/;

const describe = (collection: CollectionName, field: string): Operand => {
  if (field === "_id") return { field, sql: "id", is: { string: "1", number: "0", boolean: "0" }, mixed: false };
  if (!fieldName.test(field)) throw new TypeError(`not a top-level field: ${field}`);
  if (columnsOf(collection).includes(field)) {
    const type = `typeof("${field}")`;
    return {
      field,
      sql: `"${field}"`,
      is: { string: `${type}='text'`, number: `${type} IN ('integer','real')`, boolean: "0" },
      mixed: false,
    };
  }
  const type = `json_type(doc,'$.${field}')`;
  return {
    field,
    sql: `json_extract(doc,'$.${field}')`,
    is: { string: `${type}='text'`, number: `${type} IN ('integer','real')`, boolean: `${type} IN ('true','false')` },
    mixed: true,
  };
};

const operands = new Map<string, Operand>();

/** Described once: who asks the port names fields, no client does. */
const operandOf = (collection: CollectionName, field: string): Operand => {
  const name = `${collection}.${field}`;
  const known = operands.get(name);
  if (known !== undefined) return known;
  const operand = describe(collection, field);
  operands.set(name, operand);
  return operand;
};

const ranges: Readonly<Record<string, string>> = { $gt: ">", $gte: ">=", $lt: "<", $lte: "<=" };

const comparable = ({ field }: Operand, value: unknown): Value => {
  const stored = toStored(value);
  if (typeof stored === "string") return stored.toWellFormed();
  if (typeof stored === "boolean" || (typeof stored === "number" && !Number.isNaN(stored))) return stored;
  throw new TypeError(`cannot compare ${field} with ${value === null ? "null" : typeof value}`);
};

const parameter = (value: Value): Parameter => (typeof value === "boolean" ? Number(value) : value);

/** Whether equality with the value finds nothing of another type: only text that looks like a list or an object could. */
const tellsItsType = ({ mixed }: Operand, value: Value): boolean =>
  typeof value === "string" && !(mixed && (value.startsWith("[") || value.startsWith("{")));

const oneOf = (operand: Operand, list: unknown, parameters: Parameter[]): string => {
  if (!Array.isArray(list)) throw new TypeError("$in needs a list");
  const values = list.map((value) => comparable(operand, value));
  const parts = (["string", "number", "boolean"] as const).flatMap((type) => {
    const members = values.filter((value) => typeof value === type);
    if (members.length === 0) return [];
    parameters.push(JSON.stringify(members.map(parameter)));
    const among = `${operand.sql} IN (SELECT value FROM json_each(?))`;
    return [members.every((value) => tellsItsType(operand, value)) ? among : `${among} AND ${operand.is[type]}`];
  });
  return parts.length === 0 ? "0" : `(${parts.join(" OR ")})`;
};

const equals = (operand: Operand, wanted: unknown, parameters: Parameter[]): string => {
  const value = comparable(operand, wanted);
  parameters.push(parameter(value));
  return tellsItsType(operand, value) ? `${operand.sql}=?` : `${operand.sql}=? AND ${operand.is[typeof value as ValueType]}`;
};

/** The inverse of `containsText`. */
const literalOf = (escaped: string): string => escaped.replace(/\\(x00|.)/gs, (_, kept: string) => (kept === "x00" ? "\0" : kept));

const compared = (operand: Operand, operator: string, wanted: unknown, parameters: Parameter[]): string => {
  if (operator === "$in") return oneOf(operand, wanted, parameters);
  if (operator === "$exists") return `${operand.sql} IS ${wanted === true ? "NOT " : ""}NULL`;
  if (operator === "$regex" && typeof wanted === "string") {
    parameters.push(literalOf(wanted).toWellFormed());
    return `${operand.is.string} AND instr(${operand.sql},?)>0`;
  }
  const comparison = ranges[operator];
  if (comparison === undefined) throw new TypeError(`unknown operator ${operator}`);
  const value = comparable(operand, wanted);
  parameters.push(parameter(value));
  return `${operand.sql}${comparison}? AND ${operand.is[typeof value as ValueType]}`;
};

const isOperators = (condition: unknown): condition is Fields =>
  typeof condition === "object" && condition !== null && !(condition instanceof Date) && !Array.isArray(condition);

const conditions = (operand: Operand, wanted: unknown, parameters: Parameter[]): string[] =>
  isOperators(wanted)
    ? Object.keys(wanted).map((operator) => compared(operand, operator, wanted[operator], parameters))
    : [equals(operand, wanted, parameters)];

/** Fields that an index finds within a workspace, by collection. */
const selectedWithin = new Map<CollectionName, ReadonlySet<string>>(
  Array.from(
    Map.groupBy(indexes, ({ collection }) => collection),
    ([collection, declared]) => [
      collection,
      new Set(
        declared.flatMap(({ fields: [first, second] }) =>
          first === "workspaceId" && second !== undefined && second !== "_id" ? [second] : [],
        ),
      ),
    ],
  ),
);

/**
 * The workspace is the same in every document, so an index that can use nothing else is worse than none. SQLite does
 * not know that; a unary plus keeps it from trying.
 */
const workspaceSelects = (collection: CollectionName, used: readonly string[]): boolean =>
  used.some((field) => selectedWithin.get(collection)?.has(field));

const conjunction = (collection: CollectionName, filter: Fields, sorted: readonly string[], parameters: Parameter[]): string => {
  const used = Object.keys(filter);
  const parts: string[] = [];
  for (const field of used) {
    const wanted = filter[field];
    if (field === "$or") {
      if (!Array.isArray(wanted) || wanted.length === 0) throw new TypeError("$or needs at least one member");
      parts.push(`(${wanted.map((member: Fields) => `(${conjunction(collection, member, sorted, parameters)})`).join(" OR ")})`);
      continue;
    }
    const isVain = field === "workspaceId" && !workspaceSelects(collection, used) && !workspaceSelects(collection, sorted);
    for (const text of conditions(operandOf(collection, field), wanted, parameters)) parts.push(isVain ? `+${text}` : text);
  }
  return parts.length === 0 ? "1" : parts.join(" AND ");
};

/**
 * `WHERE … [ORDER BY …] [LIMIT …]` for a filter of the port, judged as MongoDB would. Throws a `TypeError` for what
 * the port does not know, and for a comparison with undefined, which must not widen a filter.
 */
export const filterToSql = (collection: CollectionName, filter: Fields, sort: Sort = {}, limit?: number): Sql => {
  const parameters: Parameter[] = [];
  const sorted = Object.keys(sort);
  let text = ` WHERE ${conjunction(collection, filter, sorted, parameters)}`;
  if (sorted.length > 0) {
    text += ` ORDER BY ${sorted.map((field) => operandOf(collection, field).sql + (sort[field] === -1 ? " DESC" : "")).join(",")}`;
  }
  if (limit !== undefined && limit > 0) {
    // SQLite looks into a bare `LIMIT ?` for its plan, and so would compile the statement anew whenever it is used.
    text += " LIMIT ?+0";
    parameters.push(limit);
  }
  return { text, parameters };
};
