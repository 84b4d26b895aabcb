import { create } from "@bufbuild/protobuf";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import {
  type Migration,
  MigrationAlgorithm,
  MigrationAlgorithmSchema,
  MigrationsService,
} from "../../../../gen/latchkey/v2/migrations_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { enumName } from "../../data/code/enumName.ts";
import { snippet } from "../../data/code/snippets.ts";
import { usePages } from "../../data/hooks/usePages.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { EmptyState } from "../../design/states/EmptyState.tsx";
import { QueryView } from "../../design/states/QueryView.tsx";
import { type Column, DataTable } from "../../design/tables/DataTable.tsx";
import { Time } from "../../design/values/Time.tsx";
import { usePageCommands } from "../../router/pageCommands.ts";
import { CreateMigration } from "./CreateMigration.tsx";
import { DeleteMigration } from "./DeleteMigration.tsx";

const { listMigrations, createMigration, deleteMigration } = MigrationsService.method;

const columns = (remove: (migration: Migration) => void): readonly Column<Migration>[] => {
  const forbidden = missingReason(deleteMigration, {});
  return [
    {
      id: "name",
      label: "Name",
      narrow: true,
      cell: ({ name }) => name ?? <span class="quiet">–</span>,
    },
    { id: "migrationId", label: "ID", cell: ({ migrationId }) => <code>{migrationId}</code> },
    { id: "algorithm", label: "Algorithm", cell: ({ algorithm }) => <code>{enumName(MigrationAlgorithmSchema, algorithm)}</code> },
    { id: "createdAt", label: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: "delete",
      label: "Delete it",
      narrow: true,
      cell: (migration) => (
        <Button
          kind="danger"
          disabledBecause={forbidden}
          label={`Delete ${migration.name ?? migration.migrationId}`}
          onClick={() => remove(migration)}
        >
          Delete
        </Button>
      ),
    },
  ];
};

/** Imports of keys that another system issued (management §7). */
export const MigrationsTab = (): JSX.Element => {
  const request = { limit: 100n };
  const migrations = usePages(listMigrations, request, (answer) => answer);
  const [creating, setCreating] = useState(false);
  const [removing, setRemoving] = useState<Migration>();
  const forbidden = missingReason(createMigration, {});
  usePageCommands(forbidden === undefined ? [{ label: "Create migration", run: () => setCreating(true) }] : []);
  const button = (
    <Button kind="primary" onClick={() => setCreating(true)} disabledBecause={forbidden}>
      Create migration
    </Button>
  );
  const example = { method: createMigration, request: create(createMigration.input, { algorithm: MigrationAlgorithm.SHA256 }) };
  return (
    <>
      <div class="page-header">
        <p class="quiet">A migration takes over the hashes of keys that another system issued; those keys then verify here.</p>
        <div class="actions">
          <CodeDrawer method={listMigrations} request={request} />
          {button}
        </div>
      </div>
      <QueryView query={migrations}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState action={button} code={snippet("curl", example, location.origin)}>
              No migration is registered.
            </EmptyState>
          ) : (
            <DataTable
              label="Migrations"
              columns={columns(setRemoving)}
              rows={rows}
              rowKey={({ migrationId }) => migrationId}
              more={migrations.hasMore ? { loading: migrations.loadingMore, load: migrations.loadMore } : undefined}
            />
          )
        }
      </QueryView>
      {creating && <CreateMigration onClose={() => setCreating(false)} />}
      {removing !== undefined && <DeleteMigration migration={removing} onClose={() => setRemoving(undefined)} />}
    </>
  );
};
