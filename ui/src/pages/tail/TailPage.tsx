import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { AnalyticsService, UsageKind } from "../../../../gen/latchkey/v2/analytics_pb.ts";
import { KeysService } from "../../../../gen/latchkey/v2/keys_pb.ts";
import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { unseenBy } from "../../data/access/unseen.ts";
import { snippet } from "../../data/code/snippets.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { announce } from "../../design/states/announcements.ts";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { DataTable } from "../../design/tables/DataTable.tsx";
import { queryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { TailFilters } from "./TailFilters.tsx";
import { checkColumns, verificationColumns } from "./tailColumns.tsx";
import { readFollowed } from "./tailRequest.ts";
import { type Tail, useTail } from "./useTail.ts";
import "./tailPage.css";

const { verifyKey } = KeysService.method;
const { limit } = RatelimitService.method;

const count = (value: number | bigint): string => value.toLocaleString("en");

const Nothing = ({ checks }: { readonly checks: boolean }): JSX.Element =>
  checks ? (
    <EmptyState
      action={
        <a class="button" href="/ui/limits">
          Try a limit
        </a>
      }
      code={snippet(
        "curl",
        { method: limit, request: create(limit.input, { namespace: "logins", identifier: "user_1", limit: 10n, duration: 60_000n }) },
        location.origin,
      )}
    >
      No limit has been checked since you opened this page. The next check appears within seconds.
    </EmptyState>
  ) : (
    <EmptyState
      action={
        <a class="button" href="/ui/apis">
          Go to the APIs
        </a>
      }
      code={snippet("curl", { method: verifyKey, request: create(verifyKey.input, { key: "$KEY" }) }, location.origin)}
    >
      No key has been verified since you opened this page. The next verification appears within seconds.
    </EmptyState>
  );

/** The state of the tail in one line. */
const State = ({ tail }: { readonly tail: Tail }): JSX.Element => (
  <p class="tail-state">
    <span class={`dot ${tail.paused ? "" : "live"}`} aria-hidden="true" />
    {tail.paused ? `Paused. ${tail.held.length === 0 ? "Nothing" : count(tail.held.length)} came since.` : "Live"}
    {tail.dropped > 0n && <span class="quiet"> {count(tail.dropped)} events were lost on their way.</span>}
    {tail.gap && <span class="quiet"> Some are missing: this page was asleep for more than ten minutes.</span>}
  </p>
);

/** `/ui/tail`: verifications and limit checks as they happen. */
export const Page = (): JSX.Element => {
  const query = queryParams.value;
  const followed = useMemo(() => readFollowed(query), [query]);
  const tail = useTail(followed);
  const checks = followed.kind === UsageKind.RATELIMITS;
  const toggle = (): void => {
    announce(tail.paused ? "Following again." : "Paused.");
    tail.togglePause();
  };
  const label = tail.paused ? "Resume" : "Pause";
  usePageCommands([{ label: `${label} the tail`, run: toggle }]);
  return (
    <PageFrame
      title="Tail"
      actions={
        <>
          <CodeDrawer method={AnalyticsService.method.tail} request={{ ...followed, waitMs: 20_000n, limit: 500n }} />
          <Button kind="primary" onClick={toggle}>
            {label}
          </Button>
        </>
      }
    >
      <TailFilters kind={followed.kind} />
      <QueryView
        query={{
          data: tail.listening ? tail.shown : undefined,
          error: tail.error,
          reload: tail.retry,
          unseen: unseenBy(AnalyticsService.method.tail, { request: followed }),
        }}
      >
        {(events) => (
          <>
            <State tail={tail} />
            {events.length === 0 ? (
              <Nothing checks={checks} />
            ) : (
              <DataTable
                label={checks ? "Limit checks" : "Verifications"}
                columns={checks ? checkColumns : verificationColumns}
                rows={events}
                rowKey={({ number }) => String(number)}
              />
            )}
          </>
        )}
      </QueryView>
    </PageFrame>
  );
};
