import type { JSX } from "preact";
import type { AuditLog } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Diff } from "../../design/values/Diff.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import { changesOf, resourcePage, sequenceOf } from "./entryTexts.ts";

const Changes = ({ entry }: { readonly entry: AuditLog }): JSX.Element => {
  const changes = changesOf(entry);
  if (changes === undefined) return <p class="quiet">This event tells of no single fields.</p>;
  return changes.length === 0 ? <p class="quiet">The call changed nothing.</p> : <Diff changes={changes} />;
};

const Resources = ({ entry }: { readonly entry: AuditLog }): JSX.Element => (
  <ul class="audit-resources">
    {entry.resources.map(({ type, id, name }) => {
      const page = resourcePage(type, id);
      return (
        <li key={`${type} ${id}`}>
          {type} {page === undefined ? <code>{id}</code> : <a href={page}>{id}</a>} {name}
        </li>
      );
    })}
  </ul>
);

/** Everything that the log has of one event, its change first. */
export const EntryDrawer = ({ entry, onClose }: { readonly entry: AuditLog; readonly onClose: () => void }): JSX.Element => {
  const { time, insertedAt, event, description, outcome, actor, context, correlationId, meta } = entry;
  return (
    <Dialog title={event} onClose={onClose} place="side">
      <p>{description}</p>
      <Changes entry={entry} />
      <dl class="facts">
        <dt>Happened</dt>
        <dd>
          <Time at={Date.parse(time)} /> <OutcomeBadge outcome={outcome} />
        </dd>
        <dt>Logged</dt>
        <dd>
          <Time at={Date.parse(insertedAt)} />
        </dd>
        <dt>Actor</dt>
        <dd>
          {actor?.name} <span class="quiet">{actor?.type}</span>{" "}
          <a href={`/ui/audit?${new URLSearchParams({ actorId: actor?.id ?? "" })}`}>{actor?.id}</a>
        </dd>
        <dt>Resources</dt>
        <dd>
          <Resources entry={entry} />
        </dd>
        {context?.ipAddress !== undefined && (
          <>
            <dt>Address</dt>
            <dd>
              <code>{context.ipAddress}</code>
            </dd>
          </>
        )}
        {context?.userAgent !== undefined && (
          <>
            <dt>User agent</dt>
            <dd>{context.userAgent}</dd>
          </>
        )}
        {correlationId !== undefined && (
          <>
            <dt>Call</dt>
            <dd>
              <a href={`/ui/audit?${new URLSearchParams({ correlationId })}`}>{correlationId}</a>
            </dd>
          </>
        )}
        <dt>In the chain</dt>
        <dd>
          Number <Int64 value={sequenceOf(entry)} />, hash <code>{meta?.hash}</code>, after <code>{meta?.previousHash}</code>
        </dd>
        <dt>Entry</dt>
        <dd>
          <code>{entry.auditLogId}</code>
        </dd>
      </dl>
    </Dialog>
  );
};
