import type { DescMethodUnary, JsonObject } from "@bufbuild/protobuf";
import { useEffect, useRef, useState } from "preact/hooks";
import {
  AnalyticsService,
  type GetRatelimitsRequestSchema,
  type GetRatelimitsResponseSchema,
  type GetVerificationsRequestSchema,
  type GetVerificationsResponseSchema,
} from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { type CallOptions, call } from "../../data/calls/call.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import { asksForRatelimits } from "./eventTables.ts";
import { remember } from "./queryHistory.ts";

const { getVerifications, getRatelimits } = AnalyticsService.method;

type QueryMethod = DescMethodUnary<
  typeof GetVerificationsRequestSchema | typeof GetRatelimitsRequestSchema,
  typeof GetVerificationsResponseSchema | typeof GetRatelimitsResponseSchema
>;

/** The procedure whose tables a query names. */
export const methodOf = (query: string): QueryMethod => (asksForRatelimits(query) ? getRatelimits : getVerifications);

/** Asks a query. */
export const ask = async (query: string, options: CallOptions): Promise<readonly JsonObject[]> => {
  const { message } = asksForRatelimits(query)
    ? await call(getRatelimits, { query }, options)
    : await call(getVerifications, { query }, options);
  return message.data;
};

/** The result of a query. */
export interface QueryRun {
  /** The query that was asked last. */
  readonly query: string;
  readonly rows: readonly JsonObject[] | undefined;
  readonly error: CallError | undefined;
  /** Milliseconds that it took; undefined while it runs. */
  readonly took: number | undefined;
}

/** One query at a time, which can be cancelled. */
export const useQueryRun = (): {
  readonly latest: QueryRun | undefined;
  readonly running: boolean;
  readonly run: (query: string) => Promise<void>;
  readonly cancel: () => void;
} => {
  const [latest, setLatest] = useState<QueryRun>();
  const [running, setRunning] = useState(false);
  const current = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  return {
    latest,
    running,
    cancel: () => current.current?.abort(),
    run: async (query) => {
      current.current?.abort();
      const abort = new AbortController();
      current.current = abort;
      setRunning(true);
      const at = Date.now();
      const end = (result: string, found: Pick<QueryRun, "rows" | "error">): void => {
        const took = Date.now() - at;
        remember({ query, at, took, result });
        if (current.current !== abort) return;
        setRunning(false);
        setLatest({ query, took, ...found });
      };
      try {
        const rows = await ask(query, { signal: abort.signal });
        end(`${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`, { rows, error: undefined });
      } catch (thrown) {
        if (abort.signal.aborted) return end("cancelled", { rows: undefined, error: undefined });
        const error = readCallError(thrown);
        end(error.message, { rows: undefined, error });
      }
    },
  };
};
