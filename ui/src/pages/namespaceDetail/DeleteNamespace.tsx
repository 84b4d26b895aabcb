import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { RatelimitService } from "../../../../gen/latchkey/v2/ratelimit_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { announce } from "../../design/states/announcements.ts";
import { navigate } from "../../router/address.ts";
import type { NamespaceNames } from "./readNamespace.ts";

/** The end of a namespace: its name stays taken (management §3). */
export const DeleteNamespace = ({ namespace: { id, name } }: { readonly namespace: NamespaceNames }): JSX.Element => {
  const [open, setOpen] = useState(false);
  const remove = useMutation(RatelimitService.method.deleteNamespace);
  const request = { namespace: id };
  const confirm = async (): Promise<void> => {
    if ((await remove.run(request)) === undefined) return;
    announce(`Deleted ${name}.`);
    navigate("/ui/limits");
  };
  return (
    <section class="answer" aria-labelledby="delete-namespace">
      <h2 id="delete-namespace">Delete this namespace</h2>
      <p>Its checks answer 410 at once. This cannot be undone, and the name cannot be used again.</p>
      <div class="actions">
        <Button kind="danger" onClick={() => setOpen(true)} disabledBecause={missingReason(remove.method, { id })}>
          Delete
        </Button>
        <CodeDrawer method={remove.method} request={request} />
      </div>
      {open && (
        <ConfirmName
          title="Delete namespace"
          name={name}
          action="Delete"
          pending={remove.pending}
          error={remove.error}
          onConfirm={() => void confirm()}
          onClose={() => setOpen(false)}
        >
          <p>Checks of limits in this namespace fail from now on.</p>
        </ConfirmName>
      )}
    </section>
  );
};
