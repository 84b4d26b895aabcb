import type { ComponentChildren, JSX } from "preact";
import { lacking } from "../../data/access/unseen.ts";
import type { Query } from "../../data/hooks/useLoad.ts";
import { Button } from "../actions/Button.tsx";
import { ErrorNote } from "./ErrorNote.tsx";
import { Forbidden } from "./Forbidden.tsx";
import { lazyPart } from "./lazyPart.tsx";
import { Skeleton } from "./Skeleton.tsx";
import { Unavailable } from "./Unavailable.tsx";
import { UnseenRows } from "./unseenRows.ts";

/** Most services have analytics: its words are a part of their own. */
const AnalyticsOff = lazyPart(async () => (await import("./AnalyticsOff.tsx")).AnalyticsOff);

export interface QueryViewProps<Data> {
  readonly query: Pick<Query<Data>, "data" | "error" | "reload" | "unseen">;
  readonly children: (data: Data) => ComponentChildren;
  /** Estimated number of lines in the skeleton. */
  readonly lines?: number;
}

/** The states of an answer, the same everywhere (console §3): waiting, forbidden, failed, old, there. */
export const QueryView = <Data,>({ query: { data, error, reload, unseen }, children, lines = 4 }: QueryViewProps<Data>): JSX.Element => {
  if (error?.kind === "forbidden") return <Forbidden message={error.message} requestId={error.requestId} />;
  if (error?.kind === "analyticsOff") return <AnalyticsOff message={error.message} />;
  if (unseen.all) return <Forbidden message={lacking(unseen)} />;
  const waits = error?.kind === "unavailable" || error?.kind === "network";
  return (
    <>
      {error !== undefined && waits && <Unavailable error={error} onRetry={reload} />}
      {error !== undefined && !waits && (
        <ErrorNote error={error}>{error.kind !== "notFound" && <Button onClick={reload}>Try again</Button>}</ErrorNote>
      )}
      {data === undefined && error === undefined && <Skeleton lines={lines} />}
      {data !== undefined && (
        <div class={error === undefined ? "answer" : "answer old"}>
          {error !== undefined && <p class="quiet">What follows was read before and may be old.</p>}
          <UnseenRows.Provider value={unseen}>{children(data)}</UnseenRows.Provider>
        </div>
      )}
    </>
  );
};
