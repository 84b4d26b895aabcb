import type { JSX } from "preact";
import { type Migration, MigrationsService } from "../../../../gen/latchkey/v2/migrations_pb.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../design/dialogs/Dialog.tsx";
import { Form } from "../../design/forms/Form.tsx";
import { announce } from "../../design/states/announcements.ts";

/** The end of an import. */
export const DeleteMigration = ({
  migration: { migrationId, name = migrationId },
  onClose,
}: {
  readonly migration: Migration;
  readonly onClose: () => void;
}): JSX.Element => {
  const remove = useMutation(MigrationsService.method.deleteMigration);
  const request = { migrationId };
  const submit = async (): Promise<void> => {
    if ((await remove.run(request)) === undefined) return;
    announce(`Deleted ${name}.`);
    onClose();
  };
  return (
    <Dialog title="Delete migration" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={remove.error}
        fields={[]}
        actions={
          <>
            <Button kind="danger" type="submit" pending={remove.pending}>
              Delete
            </Button>
            <CodeDrawer method={remove.method} request={request} />
          </>
        }
      >
        <p>
          Keys that were imported with <strong class="confirm-name">{name}</strong> and have not been used yet no longer verify. Those that
          have been used stay.
        </p>
      </Form>
    </Dialog>
  );
};
