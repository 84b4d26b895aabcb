import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { type Api, ApisService } from "../../../../gen/latchkey/v2/apis_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { announce } from "../../design/states/announcements.ts";
import { navigate } from "../../router/address.ts";

/** The end of an API and all of its keys. */
export const DeleteApi = ({ api, etag }: { readonly api: Api; readonly etag: string | undefined }): JSX.Element => {
  const [open, setOpen] = useState(false);
  const remove = useMutation(ApisService.method.deleteApi);
  const request = { apiId: api.id };
  const confirm = async (): Promise<void> => {
    // Away first: the page would read an API that is gone.
    if ((await remove.run(request, etag)) === undefined) return;
    announce(`Deleted ${api.name}.`);
    navigate("/ui/apis");
  };
  const reason = missingReason(remove.method, { api_id: api.id }) ?? (api.deleteProtection ? "Delete protection is on." : undefined);
  return (
    <section class="section" aria-labelledby="delete-api">
      <h2 id="delete-api">Delete this API</h2>
      <p>Its keys stop working at once. This cannot be undone.</p>
      <div class="actions">
        <Button kind="danger" onClick={() => setOpen(true)} disabledBecause={reason}>
          Delete
        </Button>
        <CodeDrawer method={remove.method} request={request} />
      </div>
      {open && (
        <ConfirmName
          title="Delete API"
          name={api.name}
          action="Delete"
          pending={remove.pending}
          error={remove.error}
          onConfirm={() => void confirm()}
          onClose={() => setOpen(false)}
        >
          <p>All keys of this API are refused from now on.</p>
        </ConfirmName>
      )}
    </section>
  );
};
