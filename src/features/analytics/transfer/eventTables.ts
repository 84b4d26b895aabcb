import { isRaw, ratelimits, verifications } from "../tables/schema.ts";
import type { ExportedPart } from "./manifest.ts";

/** A table of events, or of sums of them, as a whole is moved: in SQL. */
export interface EventTable {
  readonly name: string;
  /** How many events some of its rows stand for. */
  readonly events: string;
  /** The day (UTC) of a row. */
  readonly day: string;
  /** What rows of a day are dealt into files by: rows that are summed up with each other have it alike. */
  readonly key: string;
}

/** Single events and their sums; what is on its way to them for minutes only is not moved. */
export const eventTables: readonly EventTable[] = [verifications, ratelimits].flatMap(({ name, tables }) =>
  tables.map((table): EventTable => {
    if (isRaw(table)) {
      return { name: table, events: "count()", day: "toDate(fromUnixTimestamp64Milli(time, 'UTC'))", key: "request_id" };
    }
    const isVerification = name === "key_verifications";
    return {
      name: table,
      events: isVerification ? "sum(count)" : "sum(total)",
      day: "toDate(time)",
      key: isVerification ? "key_id" : "identifier",
    };
  }),
);

/** The partition of a day, as all of the tables are partitioned. */
export const monthOf = ({ day }: Pick<ExportedPart, "day">): string => day.slice(0, 4) + day.slice(5, 7);

/** Keeps the rows of a part of a table. */
export const conditionOf = ({ name, day, key }: EventTable, part: Omit<ExportedPart, "table">): string => {
  const start = Date.parse(part.day);
  const ofDay = isRaw(name) ? `time >= ${start} AND time < ${start + 86_400_000}` : `${day} = '${part.day}'`;
  return part.of === 1 ? ofDay : `${ofDay} AND cityHash64(${key}) % ${part.of} = ${part.slice}`;
};

/** As SQL names columns, some of which are words of SQL. */
export const columnList = (columns: readonly string[]): string => columns.map((column) => `\`${column}\``).join(", ");
