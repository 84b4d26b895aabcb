import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { AnalyticsService } from "../../../../../gen/latchkey/v2/analytics_pb.ts";
import { RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { missingReason } from "../../../data/access/missingReason.ts";
import { unseenBy } from "../../../data/access/unseen.ts";
import { snippet } from "../../../data/code/snippets.ts";
import { useLoad } from "../../../data/hooks/useLoad.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { EmptyState } from "../../../design/states/EmptyState.tsx";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { Time } from "../../../design/values/Time.tsx";
import { OverrideForm } from "../overrides/OverrideForm.tsx";
import type { OverrideDraft } from "../overrides/overrideDraft.ts";
import { readOverrides } from "../overrides/readOverrides.ts";
import { seenIdentifiers } from "../overrides/seenIdentifiers.ts";
import type { NamespaceNames } from "../readNamespace.ts";
import { checksQuery, type LastHour, readLastHour } from "./checkEvents.ts";
import { WhatIfForm } from "./WhatIfForm.tsx";

const { setOverride, limit } = RatelimitService.method;

interface NewOverrideProps {
  readonly namespace: NamespaceNames;
  readonly initial: OverrideDraft;
  readonly onClose: () => void;
}

/** Turns what was tried into an override. */
const NewOverride = ({ namespace, initial, onClose }: NewOverrideProps): JSX.Element => {
  const overrides = useLoad(`overrides of ${namespace.id}`, (options) => readOverrides(namespace.id, options));
  const seen = useLoad(`identifiers of ${namespace.id}`, (options) => seenIdentifiers(namespace.id, options));
  return (
    <Dialog title="Set override" onClose={onClose}>
      <OverrideForm
        namespace={namespace}
        overrides={overrides.data ?? []}
        seen={seen}
        initial={initial}
        edited={undefined}
        onDone={onClose}
      />
    </Dialog>
  );
};

/** Applies another limit to the checks of the last hour. */
export const WhatIfTab = ({ namespace }: { readonly namespace: NamespaceNames }): JSX.Element => {
  const { id } = namespace;
  const unseen = unseenBy(AnalyticsService.method.getRatelimits, { ids: { namespace_id: id } });
  const lastHour = useLoad(`last hour of ${id}`, (options) => readLastHour(id, options), { unseen });
  const [draft, setDraft] = useState<OverrideDraft>();

  const empty = (): JSX.Element => {
    const check = create(limit.input, { namespace: namespace.name, identifier: "user_1", limit: 10n, duration: 60_000n });
    return (
      <EmptyState
        action={<Button onClick={lastHour.reload}>Read again</Button>}
        code={snippet("curl", { method: limit, request: check }, location.origin)}
      >
        No limit of this namespace was checked in the last hour, so there is nothing to replay.
      </EmptyState>
    );
  };
  const content = ({ events, cut }: LastHour): JSX.Element =>
    events.length === 0 ? (
      empty()
    ) : (
      <>
        <WhatIfForm namespaceId={id} events={events} forbidden={missingReason(setOverride, { id })} onOverride={setDraft} />
        <p class="hint">
          {cut && (
            <>
              These are the last {events.length.toLocaleString("en")} checks, since <Time at={events[0]?.time} />.{" "}
            </>
          )}
          All checks are replayed with one limit and one window, and the windows start empty. Clients that were denied may have waited or
          asked again: the replay cannot know. The budget chunks that nodes take are not replayed.
        </p>
      </>
    );
  return (
    <>
      <div class="actions">
        <Button onClick={lastHour.reload}>Read again</Button>
        <CodeDrawer method={AnalyticsService.method.getRatelimits} request={{ query: checksQuery(id, Date.now()) }} />
      </div>
      <QueryView query={lastHour} lines={8}>
        {content}
      </QueryView>
      {draft !== undefined && <NewOverride namespace={namespace} initial={draft} onClose={() => setDraft(undefined)} />}
    </>
  );
};
