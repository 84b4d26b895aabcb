import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetLogsRequestSchema } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { readList } from "../../data/readInput.ts";

/** Which entries a person looks for. */
export interface AuditFilter {
  /** Unix ms, inclusive and exclusive. */
  readonly start?: number;
  readonly end?: number;
  /** Names of events; none: all. */
  readonly event: readonly string[];
  readonly actorId?: string;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly correlationId?: string;
}

/** Filters that are one text, with their labels. */
export const textFilters = [
  { name: "actorId", label: "Actor ID" },
  { name: "resourceType", label: "Resource type" },
  { name: "resourceId", label: "Resource ID" },
  { name: "correlationId", label: "Correlation ID" },
] as const;

const readTime = (text: string | null): number | undefined => (text !== null && /^\d{1,14}$/.test(text) ? Number(text) : undefined);

/** The filter of a query; times are Unix ms there. */
export const readAuditFilter = (query: URLSearchParams): AuditFilter => {
  const [start, end] = [readTime(query.get("start")), readTime(query.get("end"))];
  const texts = textFilters.flatMap(({ name }) => (query.get(name) ? [[name, query.get(name)]] : []));
  return {
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    event: readList(query.get("event") ?? ""),
    ...Object.fromEntries(texts),
  };
};

/** Whether it leaves anything out. */
export const filtersAnything = ({ event, ...others }: AuditFilter): boolean => event.length > 0 || Object.keys(others).length > 0;

type LogsRequest = MessageInitShape<typeof GetLogsRequestSchema> & { cursor?: string };

const timeText = (time: number): string => new Date(time).toISOString();

/** As `audit.getLogs` takes it. */
export const logsRequest = ({ start, end, event, ...texts }: AuditFilter): LogsRequest => ({
  ...(start === undefined ? {} : { start: timeText(start) }),
  ...(end === undefined ? {} : { end: timeText(end) }),
  ...(event.length === 0 ? {} : { event: { values: [...event] } }),
  ...texts,
});
