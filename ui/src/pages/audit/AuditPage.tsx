import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type AuditLog, AuditService } from "../../../../gen/latchkey/v2/audit_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useQuery } from "../../data/hooks/useQuery.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ExportDialog } from "../../design/dialogs/ExportDialog.tsx";
import { SearchField } from "../../design/forms/SearchField.tsx";
import { PageFrame } from "../../design/navigation/PageFrame.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { Int64 } from "../../design/values/Int64.tsx";
import { OutcomeBadge } from "../../design/values/OutcomeBadge.tsx";
import { Time } from "../../design/values/Time.tsx";
import { address, queryParams, setQueryParams } from "../../router/address.ts";
import { usePageCommands } from "../../router/pageCommands.ts";
import { filtersAnything, logsRequest, readAuditFilter, textFilters } from "./auditFilter.ts";
import { EntryDrawer } from "./EntryDrawer.tsx";
import { actorText, changesOf, exportRow, sequenceOf } from "./entryTexts.ts";
import { TimeFilter } from "./TimeFilter.tsx";
import { readEntries, useAuditEntries } from "./useAuditEntries.ts";
import { VerifyChain } from "./VerifyChain.tsx";
import "./audit.css";

const { getLogs, verifyChain } = AuditService.method;

/** This page with one entry opened: its time finds it again, whatever the filters are. */
const entryAddress = ({ auditLogId, time }: AuditLog): string => {
  const query = new URLSearchParams(queryParams.value);
  query.set("entry", auditLogId);
  query.set("at", String(Date.parse(time)));
  return `${address.value.path}?${query}`;
};

const changedFields = (entry: AuditLog): string => (changesOf(entry) ?? []).map(({ field }) => field).join(", ");

const columns: readonly Column<AuditLog>[] = [
  {
    id: "event",
    label: "Event",
    narrow: true,
    cell: (entry) => (
      <>
        <a href={entryAddress(entry)}>{entry.event}</a> {entry.outcome !== "success" && <OutcomeBadge outcome={entry.outcome} />}
      </>
    ),
  },
  { id: "time", label: "Time", narrow: true, cell: ({ time }) => <Time at={Date.parse(time)} relative /> },
  { id: "actor", label: "Actor", cell: (entry) => actorText(entry) },
  { id: "description", label: "What happened", cell: ({ description }) => description },
  { id: "changes", label: "Changed", cell: (entry) => changedFields(entry) || <span class="quiet">–</span> },
  { id: "ipAddress", label: "Address", optional: true, cell: ({ context }) => context?.ipAddress ?? <span class="quiet">–</span> },
  { id: "sequence", label: "Number", optional: true, number: true, cell: (entry) => <Int64 value={sequenceOf(entry)} /> },
];

/** The entry that the URL names: of those that show, or found by its time. */
const useOpenEntry = (shown: readonly AuditLog[] | undefined): AuditLog | undefined => {
  const id = queryParams.value.get("entry");
  const at = queryParams.value.get("at") ?? "";
  const known = shown?.find(({ auditLogId }) => auditLogId === id);
  const wanted = id !== null && shown !== undefined && known === undefined && /^\d{1,14}$/.test(at);
  const request = { ...logsRequest({ event: [], start: Number(at), end: Number(at) + 1 }), limit: 500n };
  const { data } = useQuery(getLogs, wanted ? request : {}, { enabled: wanted });
  if (id === null) return undefined;
  return known ?? data?.data.find(({ auditLogId }) => auditLogId === id);
};

/** `/ui/audit`: who changed what, newest first. */
export const Page = (): JSX.Element => {
  const filter = readAuditFilter(queryParams.value);
  const entries = useAuditEntries(filter);
  const open = useOpenEntry(entries.data);
  const [dialog, setDialog] = useState<"export" | "verify">();
  const forbidden = missingReason(verifyChain, {});
  usePageCommands(
    forbidden === undefined
      ? [
          { label: "Verify the audit chain", run: () => setDialog("verify") },
          { label: "Export the audit log", run: () => setDialog("export") },
        ]
      : [],
  );
  const close = (): void => setDialog(undefined);
  return (
    <PageFrame
      title="Audit"
      actions={
        <>
          <CodeDrawer method={getLogs} request={logsRequest(filter)} />
          <Button onClick={() => setDialog("export")} disabledBecause={forbidden}>
            Export
          </Button>
          <Button kind="primary" onClick={() => setDialog("verify")} disabledBecause={forbidden}>
            Verify
          </Button>
        </>
      }
    >
      <div class="filters audit-filters">
        <SearchField label="Events" name="event" placeholder="key.update, key.delete" />
        {textFilters.map(({ name, label }) => (
          <SearchField key={name} label={label} name={name} />
        ))}
        <TimeFilter label="From" name="start" />
        <TimeFilter label="Until" name="end" />
      </div>
      <QueryView query={entries} lines={8}>
        {(rows) =>
          rows.length > 0 ? (
            <DataTable
              label="Audit log"
              columns={columns}
              rows={rows}
              rowKey={({ auditLogId }) => auditLogId}
              more={entries.hasMore ? { loading: entries.loadingMore, load: entries.loadMore } : undefined}
            />
          ) : (
            <EmptyState>{filtersAnything(filter) ? "No entry matches." : "Nothing has been changed yet."}</EmptyState>
          )
        }
      </QueryView>
      {open !== undefined && <EntryDrawer entry={open} onClose={() => setQueryParams({ entry: undefined, at: undefined })} />}
      {dialog === "verify" && <VerifyChain onClose={close} />}
      {dialog === "export" && (
        <ExportDialog
          title="Export the audit log"
          fileName="audit"
          load={async (options, onProgress) => (await readEntries(filter, options, onProgress)).entries.map(exportRow)}
          onClose={close}
        >
          All entries that match these filters, oldest first.
        </ExportDialog>
      )}
    </PageFrame>
  );
};
