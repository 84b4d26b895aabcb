import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { type AuditLog, AuditService } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { changesMade } from "../../data/calls/call.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Change, Diff } from "../../design/values/Diff.tsx";
import { Time } from "../../design/values/Time.tsx";

const { getLogs } = AuditService.method;

const text = (value: JsonValue | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : JSON.stringify(value);

/** A change as the audit log keeps it (management §4), as before → after. */
const changeOf = ({ field, before, after, by, redacted, truncated }: JsonObject): Change => {
  const name = text(field) ?? "";
  if (redacted === true) return { field: name, before: "not kept", after: "not kept" };
  if (by !== undefined) return { field: name, before: undefined, after: `+ ${text(by)}` };
  const cut = (value: JsonValue | undefined): string | undefined =>
    truncated === true && value !== undefined ? `${text(value)}…` : text(value);
  return { field: name, before: cut(before), after: cut(after) };
};

const Entry = ({ entry }: { readonly entry: AuditLog }): JSX.Element => {
  const changes = entry.meta?.changes?.values ?? [];
  return (
    <li class="audit-entry">
      <p>
        <Time at={Date.parse(entry.time)} /> <code>{entry.event}</code>{" "}
        <span class="quiet">
          by {entry.actor?.name ?? entry.actor?.id}
          {entry.context?.ipAddress === undefined ? "" : ` from ${entry.context.ipAddress}`}
        </span>
      </p>
      <p>{entry.description}</p>
      {changes.length > 0 && <Diff changes={changes.map(changeOf)} />}
    </li>
  );
};

/** Milliseconds until the log shows a change (management §4): what was changed just now is looked for once more. */
const visibleAfter = 5000;

/** Changes to the key and their actors, newest first. */
export const AuditTab = ({ keyId }: { readonly keyId: string }): JSX.Element => {
  const request = { resourceType: "key", resourceId: keyId, limit: 100n };
  const logs = usePages(getLogs, request, (answer) => answer);
  const changed = changesMade.value;
  useEffect(() => {
    const timer = setTimeout(logs.reload, visibleAfter);
    return () => clearTimeout(timer);
  }, [changed]);
  return (
    <>
      <div class="actions">
        <CodeDrawer method={getLogs} request={request} />
        <a href={`/ui/audit?resourceId=${encodeURIComponent(keyId)}`}>Open in the audit log</a>
      </div>
      <QueryView query={logs} lines={6}>
        {(entries) =>
          entries.length === 0 ? (
            <EmptyState>The audit log has no entries about this key.</EmptyState>
          ) : (
            <>
              {logs.hasMore && (
                <div class="actions">
                  <Button pending={logs.loadingMore} onClick={logs.loadMore}>
                    Load newer
                  </Button>
                </div>
              )}
              <ol class="audit-entries" reversed>
                {entries.toReversed().map((entry) => (
                  <Entry key={entry.auditLogId} entry={entry} />
                ))}
              </ol>
            </>
          )
        }
      </QueryView>
    </>
  );
};
