import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { useEffect, useState } from "preact/hooks";
import type { Pagination } from "../../../../gen/latchkey/v2/common_pb.ts";
import { call } from "../calls/call.ts";
import { type CallError, readCallError } from "../calls/callError.ts";
import { requestKey } from "../calls/requestKey.ts";
import type { Query } from "./useLoad.ts";
import { useQuery } from "./useQuery.ts";

interface ListShape<Item> {
  readonly data: Item[];
  readonly pagination?: Pagination | undefined;
}

/** The rows of a list so far. */
export interface Pages<Item> extends Omit<Query<readonly Item[]>, "etag"> {
  readonly hasMore: boolean;
  readonly loadingMore: boolean;
  readonly loadMore: () => void;
}

interface Later<Item> {
  readonly first: unknown;
  readonly items: readonly Item[];
  readonly pagination: Pagination | undefined;
  readonly loading: boolean;
  readonly error?: CallError;
}

/** Reads a list procedure page by page (protocol §10). A changed first page restarts the list. */
export const usePages = <Input extends DescMessage, Output extends DescMessage, Item>(
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input> & { cursor?: string },
  // The items of a list, from the type of its answer.
  items: (answer: MessageShape<Output>) => ListShape<Item>,
): Pages<Item> => {
  const first = useQuery(method, request);
  const page = first.data === undefined ? undefined : items(first.data);
  const [later, setLater] = useState<Later<Item>>();
  const key = requestKey(method, request);
  const [abort, setAbort] = useState<AbortController>();
  // Another request ends the reading of the pages before.
  useEffect(() => () => abort?.abort(), [key, abort]);

  const rest = later?.first === first.data ? later : undefined;
  const pagination = rest?.pagination ?? page?.pagination;
  const loadMore = (): void => {
    if (pagination?.cursor === undefined || rest?.loading === true) return;
    const controller = new AbortController();
    const before = rest?.items ?? [];
    setAbort(controller);
    setLater({ first: first.data, items: before, pagination, loading: true });
    call(method, { ...request, cursor: pagination.cursor }, { signal: controller.signal }).then(
      ({ message }) => {
        const next = items(message);
        setLater({ first: first.data, items: [...before, ...next.data], pagination: next.pagination, loading: false });
      },
      (thrown) => {
        if (controller.signal.aborted) return;
        setLater({ first: first.data, items: before, pagination, loading: false, error: readCallError(thrown) });
      },
    );
  };
  return {
    data: page === undefined ? undefined : [...page.data, ...(rest?.items ?? [])],
    error: rest?.error ?? first.error,
    unseen: first.unseen,
    loading: first.loading,
    reload: first.reload,
    hasMore: pagination?.hasMore ?? false,
    loadingMore: rest?.loading ?? false,
    loadMore,
  };
};
