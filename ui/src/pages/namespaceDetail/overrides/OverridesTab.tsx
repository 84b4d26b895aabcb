import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { type Override, RatelimitService } from "../../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { missingReason } from "../../../data/access/missingReason.ts";
import { snippet } from "../../../data/code/snippets.ts";
import { useLoad } from "../../../data/hooks/useLoad.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { SearchField } from "../../../design/forms/SearchField.tsx";
import { EmptyState } from "../../../design/states/EmptyState.tsx";
import { QueryView } from "../../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../../design/tables/DataTable.tsx";
import { formatDuration } from "../../../design/values/formatDuration.ts";
import { Int64 } from "../../../design/values/Int64.tsx";
import { queryParams } from "../../../router/address.ts";
import { usePageCommands } from "../../../router/pageCommands.ts";
import type { NamespaceNames } from "../readNamespace.ts";
import { DeleteOverride } from "./DeleteOverride.tsx";
import { EditOverride } from "./EditOverride.tsx";
import { OverrideForm } from "./OverrideForm.tsx";
import { emptyDraft } from "./overrideDraft.ts";
import { matchCounts } from "./previewMatches.ts";
import { readOverrides } from "./readOverrides.ts";
import { seenIdentifiers } from "./seenIdentifiers.ts";

const { listOverrides, setOverride, deleteOverride } = RatelimitService.method;

type Opened = { readonly act: "new" } | { readonly act: "edit" | "delete"; readonly override: Override };

/** The overrides of a namespace, with how many identifiers each limits; sets, edits and deletes them. */
export const OverridesTab = ({ namespace }: { readonly namespace: NamespaceNames }): JSX.Element => {
  const { id } = namespace;
  const overrides = useLoad(`overrides of ${id}`, (options) => readOverrides(id, options));
  const seen = useLoad(`identifiers of ${id}`, (options) => seenIdentifiers(id, options));
  const all = overrides.data ?? [];
  const matches = useMemo(() => matchCounts(all, seen.data ?? []), [overrides.data, seen.data]);
  const [opened, setOpened] = useState<Opened>();
  const close = (): void => setOpened(undefined);
  const noSet = missingReason(setOverride, { id });
  const noDelete = missingReason(deleteOverride, { id });
  usePageCommands(noSet === undefined ? [{ label: "Set override", run: () => setOpened({ act: "new" }) }] : []);

  const columns: readonly Column<Override>[] = [
    { id: "identifier", label: "Identifier", narrow: true, cell: ({ identifier }) => <code>{identifier}</code> },
    {
      id: "limit",
      label: "Limit",
      number: true,
      narrow: true,
      cell: ({ limit }) => (limit === 0n ? <strong>0 blocks</strong> : <Int64 value={limit} />),
    },
    { id: "duration", label: "Per", cell: ({ duration }) => formatDuration(duration) },
    {
      id: "matches",
      label: "Identifiers, 24 h",
      number: true,
      cell: ({ identifier }) => (seen.data === undefined ? <span class="quiet">–</span> : <Int64 value={matches.get(identifier) ?? 0} />),
    },
    { id: "overrideId", label: "ID", optional: true, cell: ({ overrideId }) => <code>{overrideId}</code> },
    {
      id: "actions",
      label: "Actions",
      narrow: true,
      cell: (override) => (
        <span class="row-actions">
          <Button label={`Edit ${override.identifier}`} onClick={() => setOpened({ act: "edit", override })} disabledBecause={noSet}>
            Edit
          </Button>
          <Button label={`Delete ${override.identifier}`} onClick={() => setOpened({ act: "delete", override })} disabledBecause={noDelete}>
            Delete
          </Button>
        </span>
      ),
    },
  ];

  const button = (
    <Button kind="primary" onClick={() => setOpened({ act: "new" })} disabledBecause={noSet}>
      Set override
    </Button>
  );
  const search = queryParams.value.get("search") ?? "";
  return (
    <>
      <div class="filters">
        <SearchField label="Search" name="search" placeholder="Part of the identifier" />
        <div class="actions">
          <CodeDrawer method={listOverrides} request={{ namespace: id, limit: 100n }} />
          {button}
        </div>
      </div>
      <QueryView query={overrides}>
        {(rows) => {
          const found = rows.filter(({ identifier }) => identifier.toLowerCase().includes(search.toLowerCase()));
          if (found.length > 0)
            return <DataTable label="Overrides" columns={columns} rows={found} rowKey={({ overrideId }) => overrideId} />;
          if (rows.length > 0) return <EmptyState>No override whose identifier contains “{search}”.</EmptyState>;
          const first = create(setOverride.input, { namespace: id, identifier: "premium_*", limit: 1000n, duration: 60_000n });
          return (
            <EmptyState action={button} code={snippet("curl", { method: setOverride, request: first }, location.origin)}>
              There are no overrides: each check uses the limit that it sends.
            </EmptyState>
          );
        }}
      </QueryView>
      {opened?.act === "new" && (
        <Dialog title="Set override" onClose={close}>
          <OverrideForm namespace={namespace} overrides={all} seen={seen} initial={emptyDraft} edited={undefined} onDone={close} />
        </Dialog>
      )}
      {opened?.act === "edit" && (
        <EditOverride namespace={namespace} overrides={all} seen={seen} identifier={opened.override.identifier} onClose={close} />
      )}
      {opened?.act === "delete" && (
        <DeleteOverride
          namespace={namespace}
          override={opened.override}
          matches={seen.data === undefined ? undefined : (matches.get(opened.override.identifier) ?? 0)}
          onClose={close}
        />
      )}
    </>
  );
};
