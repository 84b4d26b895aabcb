import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Key } from "../../../../../gen/latchkey/v2/common_pb.ts";
import { KeysService } from "../../../../../gen/latchkey/v2/keys_pb.ts";
import { useMutation } from "../../../data/hooks/useMutation.ts";
import { Button } from "../../../design/actions/Button.tsx";
import { CodeDrawer } from "../../../design/dialogs/CodeDrawer.tsx";
import { Dialog } from "../../../design/dialogs/Dialog.tsx";
import { Checkbox } from "../../../design/forms/Checkbox.tsx";
import { Form } from "../../../design/forms/Form.tsx";
import { announce } from "../../../design/states/announcements.ts";
import { useRecentUse } from "./useRecentUse.ts";

export interface DeleteKeyProps {
  readonly stored: Key;
  readonly etag: string | undefined;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** The end of a key; says first what it did lately (console §3). */
export const DeleteKey = ({ stored, etag, onClose, onDeleted }: DeleteKeyProps): JSX.Element => {
  const [permanent, setPermanent] = useState(false);
  const remove = useMutation(KeysService.method.deleteKey);
  const recent = useRecentUse(stored);
  const request = { keyId: stored.keyId, permanent };
  const submit = async (): Promise<void> => {
    if ((await remove.run(request, etag)) === undefined) return;
    announce(`Deleted ${stored.name ?? stored.keyId}.`);
    onClose();
    onDeleted();
  };
  return (
    <Dialog title="Delete key" onClose={onClose}>
      <Form
        onSubmit={() => void submit()}
        error={remove.error}
        fields={["permanent"]}
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
          <strong class="confirm-name">{stored.name ?? stored.keyId}</strong> stops working at once.
        </p>
        <p aria-live="polite">{recent ?? "Loading its recent use…"}</p>
        <Checkbox
          label="Erase it permanently"
          name="permanent"
          checked={permanent}
          onChange={setPermanent}
          hint="Otherwise its row is kept for history."
        />
      </Form>
    </Dialog>
  );
};
