import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Identity } from "../../../../gen/latchkey/v2/common_pb.ts";
import { IdentitiesService } from "../../../../gen/latchkey/v2/identities_pb.ts";
import { missingReason } from "../../data/access/missingReason.ts";
import { useMutation } from "../../data/hooks/useMutation.ts";
import { Button } from "../../design/actions/Button.tsx";
import { CodeDrawer } from "../../design/dialogs/CodeDrawer.tsx";
import { ConfirmName } from "../../design/dialogs/ConfirmName.tsx";
import { Checkbox } from "../../design/forms/Checkbox.tsx";
import { announce } from "../../design/states/announcements.ts";
import { navigate } from "../../router/address.ts";

const { deleteIdentity } = IdentitiesService.method;

export interface DeleteIdentityProps {
  readonly identity: Identity;
  readonly etag: string | undefined;
}

/** The end of an identity, and of all that names whom it stood for if that is wanted (data §4). */
export const DeleteIdentity = ({ identity, etag }: DeleteIdentityProps): JSX.Element => {
  const [open, setOpen] = useState(false);
  const [erase, setErase] = useState(false);
  const remove = useMutation(deleteIdentity);
  const request = { identity: identity.id, erase };
  const confirm = async (): Promise<void> => {
    let done = false;
    // Each call continues the erasure. A deleted identity has no revision, so only the first call sends If-Match.
    for (let ifMatch = etag; !done; ifMatch = undefined) {
      const answer = await remove.run(request, ifMatch);
      if (answer === undefined) return;
      done = answer.message.data?.erasure?.done ?? true;
    }
    announce(`${erase ? "Erased" : "Deleted"} ${identity.externalId}.`);
    navigate("/ui/identities");
  };
  return (
    <section class="section" aria-labelledby="delete-identity">
      <h2 id="delete-identity">Delete this identity</h2>
      <p>Its keys keep working without it. They lose its meta and its shared limits at once.</p>
      <div class="actions">
        <Button kind="danger" onClick={() => setOpen(true)} disabledBecause={missingReason(deleteIdentity, {})}>
          Delete
        </Button>
        <CodeDrawer method={deleteIdentity} request={request} />
      </div>
      {open && (
        <ConfirmName
          title="Delete identity"
          name={identity.externalId}
          action="Delete"
          pending={remove.pending}
          error={remove.error}
          onConfirm={() => void confirm()}
          onClose={() => setOpen(false)}
        >
          <p>A later identity with the same name does not get its keys back.</p>
          <Checkbox
            label="Erase personal data"
            name="erase"
            checked={erase}
            onChange={setErase}
            hint="Also removes name and meta from its keys, texts that name it from the audit log, and its verifications from analytics."
          />
        </ConfirmName>
      )}
    </section>
  );
};
