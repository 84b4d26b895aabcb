import { useEffect, useState } from "preact/hooks";
import { type AuditLog, AuditService } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { type CallOptions, call } from "../../data/calls/call.ts";
import { type CallError, readCallError } from "../../data/calls/callError.ts";
import { type Query, useLoad } from "../../data/hooks/useLoad.ts";
import { type AuditFilter, logsRequest } from "./auditFilter.ts";
import { firstPlace, type Place, readBack, type Span } from "./readBack.ts";

const { getLogs } = AuditService.method;

/** Entries that are enough for one look, and the most that one answer has. */
const wanted = 100;
const mostInAnswer = 500;

/** Room for clocks that differ: the chain's oldest entry need not be the one with the earliest time. */
const slack = 3_600_000;

/** Reads all entries of a filter, oldest first. @param enough stops it before the end @param onProgress takes the number so far */
export const readEntries = async (
  filter: AuditFilter,
  options: CallOptions,
  onProgress: (entries: number) => void,
  enough: number = Number.POSITIVE_INFINITY,
): Promise<Span<AuditLog>> => {
  const entries: AuditLog[] = [];
  let cursor = "";
  for (;;) {
    const { message } = await call(getLogs, { ...logsRequest(filter), limit: BigInt(mostInAnswer), cursor }, options);
    entries.push(...message.data);
    onProgress(entries.length);
    const overflows = message.pagination?.hasMore ?? false;
    if (!overflows || entries.length >= enough) return { entries, overflows };
    cursor = message.pagination?.cursor ?? "";
  }
};

const spanReader = (filter: AuditFilter, options: CallOptions) => (start: number, end: number) =>
  readEntries({ ...filter, start, end }, options, () => undefined, end - start > 1 ? mostInAnswer : undefined);

/** The time of the oldest entry; undefined: there is none. */
const oldestTime = async (options: CallOptions): Promise<number | undefined> => {
  const { message } = await call(getLogs, { limit: 1n }, options);
  const [oldest] = message.data;
  return oldest === undefined ? undefined : Date.parse(oldest.time) - slack;
};

interface Loaded {
  readonly entries: readonly AuditLog[];
  readonly start: number;
  readonly next: Place | undefined;
}

const readFirst = async (filter: AuditFilter, options: CallOptions): Promise<Loaded> => {
  const start = filter.start ?? (await oldestTime(options));
  if (start === undefined) return { entries: [], start: 0, next: undefined };
  // An entry of another node may be ahead of this clock.
  const place = firstPlace(filter.end ?? Date.now() + slack);
  return { start, ...(await readBack(place, start, wanted, spanReader(filter, options))) };
};

interface Later {
  readonly first: Loaded | undefined;
  readonly entries: readonly AuditLog[];
  readonly next: Place | undefined;
  readonly loading: boolean;
  readonly error?: CallError;
}

/** The entries of the audit log, newest first, a hundred or so at a time. */
export const useAuditEntries = (
  filter: AuditFilter,
): Query<readonly AuditLog[]> & { readonly hasMore: boolean; readonly loadingMore: boolean; readonly loadMore: () => void } => {
  const key = JSON.stringify(filter);
  const first = useLoad(key, async (options) => ({ message: await readFirst(filter, options), etag: undefined }));
  const [later, setLater] = useState<Later>();
  const [abort, setAbort] = useState<AbortController>();
  // Another filter ends the reading of the one before.
  useEffect(() => () => abort?.abort(), [key, abort]);

  const rest = later?.first === first.data ? later : undefined;
  const next = rest === undefined ? first.data?.next : rest.next;
  const loadMore = (): void => {
    if (first.data === undefined || next === undefined || rest?.loading === true) return;
    const controller = new AbortController();
    const before = { first: first.data, entries: rest?.entries ?? [], next };
    setAbort(controller);
    setLater({ ...before, loading: true });
    readBack(next, first.data.start, wanted, spanReader(filter, { signal: controller.signal })).then(
      (read) => setLater({ first: before.first, entries: [...before.entries, ...read.entries], next: read.next, loading: false }),
      (thrown) => {
        if (!controller.signal.aborted) setLater({ ...before, loading: false, error: readCallError(thrown) });
      },
    );
  };
  return {
    data: first.data === undefined ? undefined : [...first.data.entries, ...(rest?.entries ?? [])],
    etag: undefined,
    error: rest?.error ?? first.error,
    unseen: first.unseen,
    loading: first.loading,
    reload: first.reload,
    hasMore: next !== undefined,
    loadingMore: rest?.loading ?? false,
    loadMore,
  };
};
