import type { Settings } from "./clickhouse.ts";

/** Bytes of a response, and of what is read of one. */
export const MAX_RESPONSE_BYTES: number = 4 * 1024 ** 2;
const MAX_RESULT_ROWS = 10_000_000;
/**
 * Characters of a query as it runs: a caller's 16 KiB, and for each table that it names the ids of its scope. A thousand ids
 * fit some three hundred times.
 */
export const MAX_SQL_LENGTH: number = 8 * 1024 ** 2;

/** Of every statement that holds something of a caller's. */
export const sandbox: Settings = {
  readonly: 1,
  allow_ddl: 0,
  allow_introspection_functions: 0,
  implicit_select: 0,
  session_timezone: "UTC",
  use_query_condition_cache: 0,
  // Memory is the limit, not the disk.
  max_bytes_before_external_group_by: 0,
  max_bytes_ratio_before_external_group_by: 0,
  max_bytes_before_external_sort: 0,
  max_bytes_ratio_before_external_sort: 0,
};

export interface QueryLimits {
  readonly querySeconds: number;
  readonly rowsRead: number;
  /** Bytes of one query. */
  readonly memory: number;
}

/** Of a caller's query as it runs, and of those that show whether it would be kept to its scope. */
export const querySettings = ({ querySeconds, rowsRead, memory }: QueryLimits): Settings => ({
  ...sandbox,
  default_format: "JSONCompactEachRowWithNamesAndTypes",
  // At least four bytes for a character of UTF-8.
  max_query_size: 4 * MAX_SQL_LENGTH,
  max_execution_time: querySeconds,
  timeout_overflow_mode: "throw",
  max_memory_usage: memory,
  max_rows_to_read: rowsRead,
  max_result_rows: MAX_RESULT_ROWS,
  result_overflow_mode: "break",
  cancel_http_readonly_queries_on_client_close: 1,
  // A server keeps a response back until it knows that the query succeeds, unless it is larger than we read.
  http_response_buffer_size: 2 * MAX_RESPONSE_BYTES,
  date_time_output_format: "iso",
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 0,
});
